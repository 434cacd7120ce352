import type { Context } from '../context.ts'
import { topics } from '../storage/wakeups.ts'
import type { SessionKey } from './append.ts'
import { listEventsAfter, type StoredEvent } from './event-sql.ts'

const PAGE = 200
/** A missed wake-up costs this much and nothing else. */
const POLL_MS = 5_000

/**
 * Yields the log after a sequence, page by page, and then what is appended, until the signal aborts. It listens before
 * it reads, so that nothing can be appended unseen between a read and the wait that follows it.
 */
export async function* followEvents(
  context: Context,
  key: SessionKey,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[]> {
  let position = after
  let woken = true
  let wake = () => {}
  const unsubscribe = context.wakeups.subscribe(topics.session(key.organizationId, key.sessionId), () => {
    woken = true
    wake()
  })
  try {
    while (!signal.aborted) {
      woken = false
      const page = await listEventsAfter(context.db, key, position, PAGE)
      const last = page.at(-1)
      if (last !== undefined) {
        position = last.sequence
        yield page
      } else if (!woken) {
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, POLL_MS)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
          signal.addEventListener('abort', wake, { once: true })
        })
        signal.removeEventListener('abort', wake)
      }
    }
  } finally {
    unsubscribe()
  }
}
