import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { findLiveLease } from '../leases/lease-sql.ts'
import { offerSeal } from '../runs/fence-sql.ts'
import { hasUnsealed, hasUnsealedTyping, noteSealRequested } from './terminal-work-sql.ts'

/**
 * Has the sandbox of an idle Session sealed, if somebody worked there at a terminal since it was sealed last. The work
 * joins the checkpoint of the newest Run; without a Run there is none to join. One seal is asked for the same work, so a
 * lease that cannot be sealed ends all the same. The caller holds the Session's lock and has seen that no Run is active.
 *
 * @returns whether a worker is to seal; wake the queue then
 */
export function sealTerminalWork(tx: Queryable, key: SessionKey, now: Date): Promise<boolean> {
  return sealIf(hasUnsealed, tx, key, now)
}

/**
 * Does the same before somebody gives the sandbox back. A terminal that is still open counts only until what was typed
 * there is sealed: the programs in it may write without end, and giving back would never come about.
 */
export function sealBeforeRelease(tx: Queryable, key: SessionKey, now: Date): Promise<boolean> {
  return sealIf(hasUnsealedTyping, tx, key, now)
}

async function sealIf(unsealed: typeof hasUnsealed, tx: Queryable, key: SessionKey, now: Date): Promise<boolean> {
  const lease = await findLiveLease(tx, key)
  if (lease?.state !== 'attached' || !(await unsealed(tx, lease.id, now))) return false
  await noteSealRequested(tx, lease.id, now)
  return offerSeal(tx, key)
}
