import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** Limits of the model gateway. */
export interface GatewaySettings {
  readonly rate: RateLimit
  readonly bodyBytes: number
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  /** Further attempts at one model after the first. */
  readonly retries: number
  readonly retryWaitMs: number
  readonly clientPatienceMs: number
  /** Maximum number of connections to one provider. */
  readonly connections: number
  /** Maximum number of concurrent requests of one sandbox. */
  readonly sandboxRequests: number
}

export function readGateway(env: Environment, fixed: Fixed): GatewaySettings {
  return {
    rate: readRateLimit(
      env,
      'BERTH_GATEWAY_RATE',
      { perMinute: 6000, burstSeconds: fixed.gatewayBurstSeconds },
      'Model requests that an installation, an end user, a membership or a Run may send per minute; a tenth of them at once. Raise it for integrations that send more than a hundred requests a second.',
    ),
    bodyBytes: fixed.gatewayBodyBytes,
    connectMs: fixed.gatewayConnectMs,
    firstByteMs: fixed.gatewayFirstByteMs,
    idleMs: fixed.gatewayIdleMs,
    totalMs: fixed.gatewayTotalMs,
    retries: fixed.gatewayRetries,
    retryWaitMs: fixed.gatewayRetryWaitMs,
    clientPatienceMs: fixed.gatewayClientPatienceMs,
    connections: fixed.gatewayConnections,
    sandboxRequests: fixed.gatewaySandboxRequests,
  }
}
