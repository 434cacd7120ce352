import type { Context } from '../context.ts'
import type { Principal } from '../identity/principal.ts'
import { topics } from '../storage/wakeups.ts'
import { type Change, changesOf, changesSince } from './change-feed-sql.ts'

/** Changes of one Session within this long reach a reader as one notice (interface 4.7). */
const COALESCE_MS = 250
/** A missed wake-up costs this much, and nothing else. */
const POLL_MS = 15_000
/**
 * A change is dated before it is committed, so a look back must reach past the longest transaction: what was dated
 * earlier than that before the last look was visible then. Statements are bounded by 10 s and idle transactions by 30 s.
 */
const OVERLAP_MS = 60_000
/** A reader this far behind reads the Session list again instead. */
const MAX_AGE_MS = 60 * 60 * 1000
const MAX_CHANGES = 1000

const encoder = new TextEncoder()

/**
 * Notices of which Sessions of an installation changed (interface 4.7): each says that a Session moved, not how. Without
 * a cursor it starts now. The cursor is a time in milliseconds; resuming looks back a little further than it, so a
 * notice may come twice, and none is missed.
 */
export async function* followSessions(
  context: Context,
  principal: Principal,
  cursor: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { clock, wakeups } = context
  const owner = { organizationId: principal.organizationId, ownerId: principal.id }
  const moved = new Set<string>()
  /** What was told last of each Session, so that looking back does not tell it again. */
  const told = new Map<string, number>()
  let lookBack = cursor !== undefined
  let since = cursor ?? clock.now().getTime()
  let wake = () => {}
  const unsubscribe = wakeups.subscribe(topics.organization(owner.organizationId), topic => {
    if (topic === null) lookBack = true
    else moved.add(topic.slice(topic.lastIndexOf('/') + 1))
    wake()
  })
  const polling = setInterval(() => {
    lookBack = true
    wake()
  }, POLL_MS)
  try {
    if (cursor !== undefined && clock.now().getTime() - cursor > MAX_AGE_MS) {
      since = clock.now().getTime()
      yield frame(since, { reset: true })
    }
    while (!signal.aborted) {
      const now = clock.now().getTime()
      const ids = [...moved]
      moved.clear()
      const looking = lookBack
      lookBack = false
      const changes = looking
        ? await changesSince(context.db, owner, new Date(since - OVERLAP_MS), MAX_CHANGES + 1)
        : await changesOf(context.db, owner, ids)
      if (changes.length > MAX_CHANGES) {
        since = now
        told.clear()
        yield frame(since, { reset: true })
      } else {
        const news = changes.filter(change => told.get(change.id) !== change.updated_at.getTime())
        for (const change of news) {
          since = Math.max(since, change.updated_at.getTime())
          told.delete(change.id)
          told.set(change.id, change.updated_at.getTime())
        }
        forget(told, since - 2 * OVERLAP_MS)
        if (news.length > 0) yield Buffer.concat(news.map(change => notice(since, change)))
      }
      await pause(COALESCE_MS, signal)
      if (moved.size === 0 && !lookBack && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    }
  } finally {
    clearInterval(polling)
    unsubscribe()
  }
}

function notice(cursor: number, change: Change): Uint8Array {
  return frame(cursor, {
    sessionId: change.id,
    lastEventSequence: change.last_event_sequence,
    updatedAt: change.updated_at,
  })
}

function frame(cursor: number, data: object): Uint8Array {
  return encoder.encode(`id: ${cursor}\ndata: ${JSON.stringify(data)}\n\n`)
}

/** Drops what no look back can reach any more; the map is in the order of telling. */
function forget(told: Map<string, number>, before: number): void {
  for (const [id, at] of told) {
    if (at >= before) return
    told.delete(id)
  }
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delayMs)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
