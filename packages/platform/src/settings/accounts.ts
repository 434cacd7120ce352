import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'

const DAY_MS = 86_400_000

/** Settings of the account service. */
export interface AccountSettings {
  /** How long an entry of the audit log is kept. */
  readonly auditMs: number
  /** Time for each request to an external identity provider. */
  readonly providerTimeoutMs: number
}

/** Reads the settings of the account service. */
export function readAccounts(env: Environment, fixed: Fixed): AccountSettings {
  // The trigger that guards the log lets nothing go that is younger than 30 days.
  const days = env.integer(
    'BERTH_AUDIT_DAYS',
    400,
    'Days that an entry of the audit log is kept. Change it to what your rules ask for.',
    {
      least: 31,
      most: 36_500,
    },
  )
  return { auditMs: days * DAY_MS, providerTimeoutMs: fixed.identityProviderMs }
}
