import { type BodySettings, readBodies } from './bodies.ts'
import type { Environment } from './environment.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** Limits on the callers of the API. */
export interface LimitSettings {
  /** For each installation or membership. */
  readonly authority: RateLimit
  /** For each client address. */
  readonly edge: RateLimit
  /** For each client address that requests tokens. */
  readonly issuance: RateLimit
  readonly bodies: BodySettings
}

/** Reads the limits. */
export function readLimits(env: Environment): LimitSettings {
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
      { limited: 'Requests for tokens, and sign-ins begun, that each address may send' },
    ),
    bodies: readBodies(env),
  }
}
