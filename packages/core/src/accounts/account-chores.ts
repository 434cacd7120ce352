import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const AT_ONCE = 10_000

/** Returns the chores that keep the account service's tables from growing for ever. */
export function accountChores(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  { auditMs }: { readonly auditMs: number },
): readonly Chore[] {
  return [
    {
      name: 'forget-audit-log',
      intervalMs: HOUR_MS,
      work: async signal => {
        const before = new Date(clock.now().getTime() - auditMs)
        const forgotten = await deleteOld(db, 'audit_log', 'at', before, signal)
        if (forgotten > 0) log.info({ forgotten }, 'forgot old entries of the audit log')
      },
    },
    {
      name: 'forget-sign-in-records',
      // Strangers may begin sign-ins, whose records live for minutes.
      intervalMs: 5 * MINUTE_MS,
      work: async signal => {
        // A consumed refresh token stays until it expires, so that its reuse is noticed.
        const records = await deleteOld(db, 'oidc_records', 'expires_at', clock.now(), signal)
        const links = await deleteOld(db, 'one_time_links', 'expires_at', clock.now(), signal)
        if (records + links > 0) log.info({ records, links }, 'forgot expired records of sign-in and one-time links')
      },
    },
  ]
}

/** Deletes in batches, so that no statement holds many locks or outlives its bound. @returns the number of rows */
async function deleteOld(
  db: Queryable,
  table: 'audit_log' | 'oidc_records' | 'one_time_links',
  column: 'at' | 'expires_at',
  before: Date,
  signal: AbortSignal,
): Promise<number> {
  for (let forgotten = 0; ; ) {
    signal.throwIfAborted()
    const { rowCount } = await db.query({
      text: `
        delete from ${table} where ctid = any (array(
          select ctid from ${table} where ${column} < $1 limit $2 for update skip locked))`,
      values: [before, AT_ONCE],
    })
    forgotten += rowCount
    if (rowCount < AT_ONCE) return forgotten
  }
}
