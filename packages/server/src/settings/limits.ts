import { type BodySettings, readBodies } from './bodies.ts'
import type { Environment } from './environment.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** How much of the API its callers may use. */
export interface LimitSettings {
  /** Of each installation or membership. */
  readonly authority: RateLimit
  /** Of each address. */
  readonly edge: RateLimit
  /** Of each address that has tokens issued. */
  readonly issuance: RateLimit
  readonly bodies: BodySettings
}

/** @param gatewayBytes what the body of one model request may hold */
export function readLimits(env: Environment, gatewayBytes: number): LimitSettings {
  const authority = { burst: 120, perMinute: 600 }
  const edge = { burst: 600, perMinute: 3000 }
  return {
    authority: readRateLimit(env, 'BERTH_RATE', authority, {
      limited: 'Requests that an installation or a membership may send',
    }),
    edge: readRateLimit(env, 'BERTH_AUTH_RATE', edge, {
      limited: 'Requests that an address may send',
      note: 'At the gateway, only requests without a valid credential count.',
    }),
    issuance: readRateLimit(
      env,
      'BERTH_ISSUANCE_RATE',
      { burst: 60, perMinute: 60 },
      { limited: 'Requests for tokens that each address may send' },
    ),
    bodies: readBodies(env, gatewayBytes),
  }
}
