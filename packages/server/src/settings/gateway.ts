import type { Environment } from './environment.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** How the AI gateway is held to its bounds. */
export interface GatewaySettings {
  readonly rate: RateLimit
  readonly bodyBytes: number
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  /** Attempts at one model beside the first. */
  readonly retries: number
  readonly retryWaitMs: number
  readonly clientPatienceMs: number
  /** Connections to one provider at most. */
  readonly connections: number
  /** Requests of one sandbox at once. */
  readonly sandboxRequests: number
}

/** Reads them. */
export function readGateway(env: Environment): GatewaySettings {
  return {
    rate: readRateLimit(
      env,
      'BERTH_GATEWAY_RATE',
      { burst: 600, perMinute: 6000 },
      { subject: 'Model requests', scope: 'for each installation or Run' },
    ),
    bodyBytes: env.integer('BERTH_GATEWAY_BODY_BYTES', 32 * 1024 ** 2, 'JSON that a model request holds at most.', {
      least: 1024,
      most: 256 * 1024 ** 2,
    }),
    connectMs: env.duration('BERTH_GATEWAY_CONNECT_SECONDS', 10, 'A provider is reached within this long, or not.'),
    firstByteMs: env.duration(
      'BERTH_GATEWAY_FIRST_BYTE_SECONDS',
      600,
      'A provider begins to answer within this long; without `stream` that is when it has finished.',
    ),
    idleMs: env.duration(
      'BERTH_GATEWAY_IDLE_SECONDS',
      300,
      "A provider's answer may be silent for this long once it began.",
    ),
    totalMs: env.duration('BERTH_GATEWAY_TOTAL_SECONDS', 3600, "A provider's answer takes at most this long."),
    retries: env.integer('BERTH_GATEWAY_RETRIES', 2, 'Times that a model request is tried again, for each model.', {
      least: 0,
      most: 10,
    }),
    retryWaitMs: env.duration(
      'BERTH_GATEWAY_RETRY_WAIT_SECONDS',
      5,
      'A provider that asks to wait for longer is not waited for.',
    ),
    clientPatienceMs: env.duration(
      'BERTH_GATEWAY_CLIENT_PATIENCE_SECONDS',
      60,
      'A client that takes nothing of its answer for this long is let go of.',
    ),
    connections: env.integer('BERTH_GATEWAY_CONNECTIONS', 1024, 'Connections to one provider at most.'),
    sandboxRequests: env.integer(
      'BERTH_GATEWAY_REQUESTS_PER_SANDBOX',
      64,
      'Requests that one sandbox has at the gateway at once.',
    ),
  }
}
