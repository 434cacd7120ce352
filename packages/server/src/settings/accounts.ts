import type { Environment } from './environment.ts'

const DAY_MS = 86_400_000

/** Settings of the account service. */
export interface AccountSettings {
  /** How long an entry of the audit log is kept. */
  readonly auditMs: number
  /** Time for each request to an external identity provider. */
  readonly providerTimeoutMs: number
  /** How long a refresh token that was used may be used again. */
  readonly refreshGraceMs: number
}

/** Reads the settings of the account service. */
export function readAccounts(env: Environment): AccountSettings {
  // The trigger that guards the log lets nothing go that is younger than 30 days.
  const days = env.integer('BERTH_AUDIT_DAYS', 400, 'Days that an entry of the audit log is kept.', {
    least: 31,
    most: 36_500,
  })
  const grace = env.integer(
    'BERTH_REFRESH_GRACE_SECONDS',
    0,
    'Seconds in which a used refresh token works again, for clients that lose answers. Theft within them is not noticed.',
    { least: 0, most: 60 },
  )
  const timeout = env.integer(
    'BERTH_IDENTITY_PROVIDER_SECONDS',
    5,
    'Seconds that each request to an external identity provider may take.',
    { least: 1, most: 60 },
  )
  return { auditMs: days * DAY_MS, refreshGraceMs: grace * 1000, providerTimeoutMs: timeout * 1000 }
}
