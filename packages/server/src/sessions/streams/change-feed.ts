import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { Moves } from './change-feed-moves.ts'
import { FeedReader } from './change-feed-reader.ts'

/** Changes of one Session within this time reach a reader as one notice. */
const COALESCE_MS = 250

/**
 * Follows the Sessions of an installation; a notice says that a Session changed, not how. Without a cursor the feed
 * starts when this promise resolves. With one it looks back to the oldest transaction that had not ended at the cursor,
 * so a notice may come twice, and none is missed.
 *
 * A change opens a window; when it closes, one read finds all that moved. The feed tells of a Session if another
 * transaction has written the row since its last notice. While the database is away, the windows pass and nothing is
 * forgotten.
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
    // Sessions may have moved after the feed opened and before it subscribed.
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
