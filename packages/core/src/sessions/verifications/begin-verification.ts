import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { type Check, digestOfChecks, type VerificationRow, verificationEvent } from './verification.ts'
import { markRunning } from './verification-sql.ts'

/** Returns the Session whose revision is verified. */
export const subjectOf = (row: Pick<VerificationRow, 'organization_id' | 'session_id'>): SessionKey => ({
  organizationId: row.organization_id,
  sessionId: row.session_id,
})

/**
 * Records that the sandbox of a verification stands, and by which revision of the environment. Repeated for the same
 * sandbox it changes nothing. The caller holds the locks of both Sessions.
 * @returns when it began, in its first sandbox
 */
export async function beginVerification(
  tx: Queryable,
  row: VerificationRow,
  lease: { readonly id: string; readonly revision: number },
  of: { readonly checks: readonly Check[]; readonly baseTree: string },
  now: Date,
): Promise<Date> {
  const results = of.checks.map(({ name, required = true }) => ({ name, required, state: 'waiting' as const }))
  const checks_digest = digestOfChecks(of.checks, of.baseTree)
  const by = { environment_revision: lease.revision, checks_digest, lease_id: lease.id, results }
  const running = await markRunning(tx, row, by, now)
  if (running !== null && !running.had_begun) await appendEvents(tx, subjectOf(row), [verificationEvent(running)], now)
  return running?.started_at ?? now
}
