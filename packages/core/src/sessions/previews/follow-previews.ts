import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { readPreview, watchPreviews } from './preview-sql.ts'

/** A watch ends by itself so soon after its last renewal. */
const WATCH_MS = 30_000
/** Pause between two renewals; also the longest delay after a missed wake-up. */
const RENEW_MS = 10_000

/**
 * Yields the preview of a Session whenever it changes, as JSON text, and null once there is none any more. Its worker
 * writes previews as long as somebody follows them.
 */
export async function* followPreviews(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  key: SessionKey,
  signal: AbortSignal,
): AsyncGenerator<string | null> {
  const { organizationId, sessionId } = key
  let moved = true
  let due = true
  let wake = () => {}
  const note = () => {
    moved = true
    wake()
  }
  const stops = [
    wakeups.subscribe(topics.preview(organizationId, sessionId), note),
    // The end of a Run, or an Event, may end what is shown.
    wakeups.subscribe(topics.session(organizationId, sessionId), note),
  ]
  const renewing = setInterval(() => {
    due = true
    note()
  }, RENEW_MS)
  signal.addEventListener('abort', note)
  let shown: string | null = null
  try {
    while (!signal.aborted) {
      if (!moved) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        continue
      }
      moved = false
      try {
        if (due) {
          const now = clock.now()
          const began = await watchPreviews(db, key, now, new Date(now.getTime() + WATCH_MS))
          due = false
          if (began) wakeups.publish(topics.control(organizationId, sessionId))
        }
        const preview = await readPreview(db, key)
        if (preview === shown) continue
        shown = preview
      } catch (error) {
        // What is missed is of no consequence, and the next wake-up looks again.
        if (!(error instanceof DatabaseUnavailable)) throw error
        continue
      }
      if (!signal.aborted) yield shown
    }
  } finally {
    clearInterval(renewing)
    signal.removeEventListener('abort', note)
    for (const stop of stops) stop()
  }
}
