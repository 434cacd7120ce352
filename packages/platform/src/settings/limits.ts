import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'

/** Limits on the request bodies that a process holds, and on its patience with slow ones. */
export interface BodySettings {
  /** One organization gets half of them at most. */
  readonly processBytes: number
  /** For one installation, person, key or Run. */
  readonly callerBytes: number
  /** Bodies over 64 KiB that one of those may send at once. */
  readonly callerBodies: number
  readonly patienceMs: number
}

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

export function readLimits(env: Environment, fixed: Fixed): LimitSettings {
  return {
    authority: readRateLimit(
      env,
      'BERTH_RATE',
      { perMinute: 600, burstSeconds: fixed.callerBurstSeconds },
      'Requests that an installation or a membership may send per minute; a fifth of them at once. Raise it for integrations that ask often.',
    ),
    edge: readRateLimit(
      env,
      'BERTH_AUTH_RATE',
      { perMinute: 3000, burstSeconds: fixed.addressBurstSeconds },
      'Requests that an address may send per minute; a fifth of them at once. At the gateway, only requests without a valid credential count. Raise it if many people share one address.',
    ),
    issuance: readRateLimit(
      env,
      'BERTH_ISSUANCE_RATE',
      { perMinute: 60, burstSeconds: fixed.issuanceBurstSeconds },
      'Requests for tokens, and sign-ins begun, that each address may send per minute; all of them at once. Raise it if many people sign in from one address.',
    ),
    bodies: {
      processBytes: fixed.bodyBytesPerProcess,
      callerBytes: fixed.bodyBytesPerCaller,
      callerBodies: fixed.bodiesPerCaller,
      patienceMs: fixed.bodyPatienceMs,
    },
  }
}
