import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'
import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

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
        const values = [new Date(clock.now().getTime() - auditMs)]
        const forgotten = await deleteInBatches(db, { table: 'audit_log', where: 'r.at < $1', values }, signal)
        if (forgotten > 0) log.info({ forgotten }, 'forgot old entries of the audit log')
      },
    },
    {
      name: 'forget-sign-in-records',
      // Strangers may begin sign-ins, whose records live for minutes.
      intervalMs: 5 * MINUTE_MS,
      work: async signal => {
        // A consumed refresh token stays until it expires, so that its reuse is noticed.
        const expired = { where: 'r.expires_at < $1', values: [clock.now()] }
        const records = await deleteInBatches(db, { table: 'oidc_records', ...expired }, signal)
        const links = await deleteInBatches(db, { table: 'one_time_links', ...expired }, signal)
        if (records + links > 0) log.info({ records, links }, 'forgot expired records of sign-in and one-time links')
      },
    },
  ]
}
