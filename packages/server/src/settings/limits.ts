import { type BodySettings, readBodies } from './bodies.ts'
import type { Environment } from './environment.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** How much of the API its callers may use. */
export interface LimitSettings {
  /** Of each installation or membership. */
  readonly authority: RateLimit
  /** Of each address. */
  readonly edge: RateLimit
  readonly bodies: BodySettings
}

/** @param gatewayBytes what the body of one model request may hold */
export function readLimits(env: Environment, gatewayBytes: number): LimitSettings {
  const authority = { burst: 120, perMinute: 600 }
  const edge = { burst: 600, perMinute: 3000 }
  return {
    authority: readRateLimit(env, 'BERTH_RATE', authority, {
      subject: 'Requests',
      scope: 'for each installation or membership',
    }),
    edge: readRateLimit(env, 'BERTH_AUTH_RATE', edge, {
      subject: 'Requests',
      scope: 'for each address; of the gateway, those without a valid credential',
    }),
    bodies: readBodies(env, gatewayBytes),
  }
}
