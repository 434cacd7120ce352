import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { listen } from '@berth/platform/storage/postgres/listen.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { listEventsAfter } from '../streams/event-sql.ts'
import { toTrial } from './trial.ts'
import { findTrial, watchTrial } from './trial-sql.ts'
import { RENEW_MS, watchedFrom } from './watch.ts'

/** Most Events that one frame of the wire carries. */
const AT_ONCE = 100

const encoder = new TextEncoder()

/**
 * Yields what happens in a trial as server-sent events: the trial at each change of its state, and the Events after a
 * sequence. It ends with the trial that has ended, and earlier if the signal aborts or the database is away: the reader
 * comes back. While it is open, the trial counts as followed.
 */
export async function* followTrial(
  context: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  key: SessionKey,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { db, clock } = context
  let position = after
  let shown = ''
  let renewAt = 0
  try {
    while (!signal.aborted) {
      using moved = listen(context.wakeups, topics.session(key.organizationId, key.sessionId))
      const now = clock.now()
      if (now.getTime() >= renewAt) {
        await watchTrial(db, key, watchedFrom(now))
        renewAt = now.getTime() + RENEW_MS
      }
      // The trial is read before its Events: once it has ended, no Event follows those that are read then.
      const row = await findTrial(db, key)
      if (row === null) return
      const events = await listEventsAfter(db, key, position, AT_ONCE)
      if (events.length > 0) {
        position = events.at(-1)?.sequence ?? position
        const frames = events.map(({ sequence, envelope }) => frame(`{"kind":"event","event":${envelope}}`, sequence))
        yield encoder.encode(frames.join(''))
        if (events.length === AT_ONCE) continue
      }
      const trial = JSON.stringify(toTrial(row))
      if (trial !== shown) yield encoder.encode(frame(`{"kind":"trial","trial":${trial}}`))
      shown = trial
      if (row.ended_at !== null) return
      await moved.once(signal)
    }
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
  }
}

const frame = (data: string, id?: number): string => `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
