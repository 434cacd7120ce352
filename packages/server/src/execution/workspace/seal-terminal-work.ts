import type { SessionKey } from '../../kit/session-key.ts'
import { findLiveLease } from '../../sessions/leases/lease-sql.ts'
import { offerSeal } from '../../sessions/runs/fence-sql.ts'
import { hasUnsealed, noteSealAsked } from '../../sessions/terminals/terminal-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

/**
 * Has the sandbox of an idle Session sealed, if somebody worked there at a terminal since it was sealed last. The work
 * joins the checkpoint of the newest Run; without a Run there is none to join. One seal is asked for the same work, so a
 * lease that cannot be sealed ends all the same. The caller holds the Session's lock and has seen that no Run is active.
 *
 * @returns whether a worker is to seal; wake the queue then
 */
export async function sealTerminalWork(tx: Queryable, key: SessionKey, now: Date): Promise<boolean> {
  const lease = await findLiveLease(tx, key)
  if (lease?.state !== 'attached' || !(await hasUnsealed(tx, lease.id, now))) return false
  await noteSealAsked(tx, lease.id, now)
  return offerSeal(tx, key)
}
