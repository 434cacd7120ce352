import type { Environment } from './environment.ts'
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

export function readGateway(env: Environment): GatewaySettings {
  return {
    rate: readRateLimit(
      env,
      'BERTH_GATEWAY_RATE',
      { burst: 600, perMinute: 6000 },
      { limited: 'Model requests that an installation, an end user, a membership or a Run may send' },
    ),
    bodyBytes: env.integer('BERTH_GATEWAY_BODY_BYTES', 32 * 1024 ** 2, 'Largest body of a model request.', {
      least: 1024,
      most: 32 * 1024 ** 2,
    }),
    connectMs: 10_000,
    firstByteMs: env.duration(
      'BERTH_GATEWAY_FIRST_BYTE_SECONDS',
      600,
      "Deadline for the first byte of a provider's answer. Without `stream` the first byte comes when the answer is complete.",
    ),
    idleMs: env.duration('BERTH_GATEWAY_IDLE_SECONDS', 300, "Longest silence within a provider's answer."),
    totalMs: env.duration('BERTH_GATEWAY_TOTAL_SECONDS', 3600, "Deadline for a provider's whole answer."),
    retries: env.integer('BERTH_GATEWAY_RETRIES', 2, 'Retries of a model request, for each model.', {
      least: 0,
      most: 10,
    }),
    retryWaitMs: env.duration(
      'BERTH_GATEWAY_RETRY_WAIT_SECONDS',
      5,
      'Longest wait that a provider may ask for before a retry; if it asks for more, the request fails.',
    ),
    clientPatienceMs: env.duration(
      'BERTH_GATEWAY_CLIENT_PATIENCE_SECONDS',
      60,
      'A client that reads nothing of its answer for this long is disconnected.',
    ),
    connections: 1024,
    sandboxRequests: 64,
  }
}
