import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { Moves } from './change-feed-moves.ts'
import { FeedReader } from './change-feed-reader.ts'

/** Changes of one Session within this long reach a reader as one notice (interface 4.7). */
const COALESCE_MS = 250

/**
 * Notices of which Sessions of an installation changed (interface 4.7): each says that a Session moved, not how. Without
 * a cursor it starts now, which is when this resolves. Resuming looks back to the oldest transaction that had not ended at
 * the cursor, so a notice may come twice, and none is missed.
 *
 * A change opens a window; what moves until it closes is read once, and told if another transaction wrote its row than the
 * one told last. While the database is away the windows pass and nothing is forgotten.
 * @throws DatabaseUnavailable
 */
export async function followSessions(
  { db, wakeups }: Context,
  { organizationId, id }: Principal,
  cursor: bigint | undefined,
): Promise<(signal: AbortSignal) => AsyncGenerator<Uint8Array>> {
  const reader = await FeedReader.open(db, { organizationId, ownerId: id }, cursor)
  return async function* follow(signal) {
    using moves = new Moves(wakeups, topics.organization(organizationId))
    // What moved since it began may have been said before anybody listened.
    moves.lookBack()
    if (reader.first !== null) yield reader.first
    while (!signal.aborted) {
      await moves.some(signal)
      await sleep(COALESCE_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const look = moves.take()
      const frames = await reader.read(look).catch(error => {
        if (!(error instanceof DatabaseUnavailable)) throw error
        moves.putBack(look)
        return null
      })
      if (frames !== null) yield frames
    }
  }
}
