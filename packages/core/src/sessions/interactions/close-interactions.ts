import type { Resolution } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { interactionEvent } from './interaction.ts'
import { expireOpen, type Which } from './interaction-sql.ts'

/**
 * Closes the open Interactions of a Session for lack of an answer, and logs that. Each end of a Run, a lease, a Session
 * or an authority calls this in its own transaction, so no Interaction stays open after it. The caller holds the
 * Session's lock.
 * @returns how many it closed
 */
export async function closeInteractions(
  tx: Queryable,
  key: SessionKey,
  resolution: Resolution,
  now: Date,
  which: Which = {},
): Promise<number> {
  const closed = await expireOpen(tx, key, which, resolution, now)
  if (closed.length > 0)
    await appendEvents(
      tx,
      key,
      closed.map(row => interactionEvent(row)),
      now,
    )
  return closed.length
}
