import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import type { HostTally } from './tally.ts'

const HOUR_MS = 60 * 60_000
/** Entries that the chore writes in one transaction. */
const AT_ONCE = 500

/** Adds uses of secrets to their hour. The host '' stands for all that have no row of their own in the Session. */
export async function addSecretUses(
  tx: Queryable,
  key: SessionKey,
  tallies: readonly HostTally[],
  now: Date,
): Promise<void> {
  const uses = tallies.flatMap(({ host, secrets }) =>
    Object.entries(secrets).map(([secret, count]) => ({ host, secret, count })),
  )
  if (uses.length === 0) return
  await tx.query({
    name: 'add-secret-uses',
    text: `
      insert into secret_uses as u (organization_id, session_id, secret, host, hour, uses)
      select $1, $2, secret, host, to_timestamp(floor(extract(epoch from $3::timestamptz) / 3600) * 3600), sum(uses)
      from unnest($4::text[], $5::text[], $6::bigint[]) as given (secret, host, uses) group by secret, host
      on conflict (organization_id, session_id, secret, host, hour) do update set uses = u.uses + excluded.uses`,
    values: [
      key.organizationId,
      key.sessionId,
      now,
      uses.map(({ secret }) => secret),
      uses.map(({ host }) => host),
      uses.map(({ count }) => count),
    ],
  })
}

interface UsesRow {
  readonly organization_id: string
  readonly session_id: string
  readonly secret: string
  readonly host: string
  readonly hour: Date
  readonly uses: number
}

/** Writes the uses of a Session's secrets into the audit log that it does not have yet: at the end of a Run. */
export async function auditSecretUses(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  now: Date,
): Promise<void> {
  const { rows } = await tx.query<UsesRow>({
    name: 'audit-secret-uses',
    text: `
      update secret_uses u set audited = u.uses from (
        select secret, host, hour, uses - audited as fresh from secret_uses
        where organization_id = $1 and session_id = $2 and audited < uses for update
      ) o
      where u.organization_id = $1 and u.session_id = $2 and u.secret = o.secret and u.host = o.host and u.hour = o.hour
      returning u.organization_id, u.session_id, u.secret, u.host, u.hour, o.fresh as uses`,
    values: [organizationId, sessionId],
  })
  await append(tx, rows, now)
}

/** Returns the chore that writes the uses of secrets into the audit log once their hour is over. */
export const egressChores = ({ db, clock }: Pick<Context, 'db' | 'clock'>): readonly Chore[] => [
  {
    name: 'audit-secret-uses',
    intervalMs: 5 * 60_000,
    work: async signal => {
      let written = AT_ONCE
      while (written === AT_ONCE && !signal.aborted) {
        written = await db.transaction(tx => auditEndedHours(tx, clock.now()))
      }
    },
  },
]

/** @returns how many entries it has written, on `secret_uses_to_audit` */
async function auditEndedHours(tx: Queryable, now: Date): Promise<number> {
  const { rows } = await tx.query<UsesRow>({
    text: `
      update secret_uses u set audited = u.uses from (
        select organization_id, session_id, secret, host, hour, uses - audited as fresh from secret_uses
        where audited < uses and hour <= $1 order by hour limit ${AT_ONCE} for update skip locked
      ) o
      where u.organization_id = o.organization_id and u.session_id = o.session_id and u.secret = o.secret
        and u.host = o.host and u.hour = o.hour
      returning u.organization_id, u.session_id, u.secret, u.host, u.hour, o.fresh as uses`,
    values: [new Date(now.getTime() - HOUR_MS)],
  })
  await append(tx, rows, now)
  return rows.length
}

async function append(tx: Queryable, rows: readonly UsesRow[], now: Date): Promise<void> {
  const actor = { kind: 'service', id: null, name: null } as const
  for (const { organization_id: organizationId, session_id: sessionId, secret, host, hour, uses } of rows) {
    const about = { action: 'egress_secret.used', target: `session/${sessionId}` }
    const details = { secret, ...(host !== '' && { host }), uses, hour: hour.toISOString() }
    await appendAudit(tx, { organizationId, actor, outcome: 'done', ...about, details }, now)
  }
}
