import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { Moves } from './change-feed-moves.ts'
import { FeedReader, type Notice } from './change-feed-reader.ts'
import type { Owner } from './change-feed-sql.ts'

/** Changes of one Session within this time reach a reader as one notice. */
const COALESCE_MS = 250

const encoder = new TextEncoder()

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
  context: Context,
  { organizationId, id }: Principal,
  cursor: bigint | undefined,
): Promise<(signal: AbortSignal) => AsyncGenerator<Uint8Array>> {
  const reader = await FeedReader.open(context.db, { organizationId, ownerId: id }, cursor)
  return async function* follow(signal) {
    const { begin } = reader
    if (begin !== null)
      yield encoder.encode(begin.isReset ? written({ ...begin, data: { reset: true } }) : `id: ${begin.cursor}\n\n`)
    for await (const notices of followChanges(context, organizationId, reader, signal)) {
      yield encoder.encode(notices.map(written).join(''))
    }
  }
}

const written = ({ cursor, data }: Notice): string =>
  `${cursor === null ? '' : `id: ${cursor}\n`}data: ${JSON.stringify(data)}\n\n`

/**
 * Follows the changes of all Sessions of an organization from now on.
 * @throws DatabaseUnavailable
 */
export async function followOrganization(
  context: Context,
  organizationId: string,
): Promise<(signal: AbortSignal) => AsyncGenerator<readonly Notice[]>> {
  const owner: Owner = { organizationId, ownerId: null }
  const reader = await FeedReader.open(context.db, owner, undefined)
  return signal => followChanges(context, organizationId, reader, signal)
}

/** Yields what a reader has to be told, at least one notice at a time. */
async function* followChanges(
  { wakeups }: Pick<Context, 'wakeups'>,
  organizationId: string,
  reader: FeedReader,
  signal: AbortSignal,
): AsyncGenerator<readonly Notice[]> {
  using moves = new Moves(wakeups, topics.organization(organizationId))
  // Sessions may have moved after the feed opened and before it subscribed.
  moves.rescan()
  while (!signal.aborted) {
    await moves.some(signal)
    await sleep(COALESCE_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const wanted = moves.take()
    const notices = await reader.read(wanted).catch(error => {
      if (!(error instanceof DatabaseUnavailable)) throw error
      moves.putBack(wanted)
      return []
    })
    if (notices.length > 0) yield notices
  }
}
