import { isAllWorkSealed } from '../../checkpoints/checkpoint-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { endLease } from '../leases/end-lease.ts'
import { isLeaseElsewhere } from '../leases/lease-sql.ts'
import type { SessionRow } from '../session/session.ts'
import { sealTerminalWork } from '../terminals/seal-terminal-work.ts'

/**
 * Gives back the sandbox of a Session whose organization was bound to its own hosts since, so that the next Run begins at
 * one of those. Work that nothing else has stays where it is, and so does a sandbox that is being sealed. The caller holds
 * the lock of the Session, which has no active Run.
 */
export async function leaveForeignHost(tx: Queryable, session: SessionRow, now: Date): Promise<void> {
  const key = { organizationId: session.organization_id, sessionId: session.id }
  if (!session.lease_held || session.finalizing || !(await isLeaseElsewhere(tx, key))) return
  if (!(await isAllWorkSealed(tx, key, session))) return
  if (await sealTerminalWork(tx, key, now)) return
  await endLease(tx, key, 'expired', now)
}
