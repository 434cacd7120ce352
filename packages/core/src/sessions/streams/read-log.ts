import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type LogSource, readSealedPage } from '../../sealed-logs/read-sealed.ts'
import { type LogPage, listEventsAfter, listEventsWithin, readLogPage, type StoredEvent } from './event-sql.ts'

// Sequences have no gaps, and the newest Event of a log is always a row. So rows that begin later than asked mean that the
// Events before them are sealed, and an empty answer means that there is nothing newer: a log that is not sealed costs
// nothing more.

/** Returns true if Events between a position and the first row are not among the rows. */
const beginsLater = (first: number | null | undefined, after: number): boolean =>
  first !== null && first !== undefined && first > after + 1

/**
 * Reads the next Events of a log, sealed or not, in order. It stops at the Event that fills `bytes`, or at the end of a page
 * of the sealed part, which is not much longer.
 * @throws BlobsUnavailable
 */
export async function readEventsWithin(
  source: LogSource,
  key: SessionKey,
  after: number,
  most: { readonly events: number; readonly bytes: number },
): Promise<readonly StoredEvent[]> {
  const rows = await listEventsWithin(source.db, key, after, most)
  if (!beginsLater(rows[0]?.sequence, after)) return rows
  return readSealedAfter(source, key, after)
}

/**
 * Reads a page of a log as `readLogPage` does, with the same Events whether they are sealed or not.
 * @throws BlobsUnavailable
 */
export async function readWholePage(
  source: LogSource,
  key: SessionKey,
  after: number,
  limit: number,
): Promise<LogPage | null> {
  const page = await readLogPage(source.db, key, after, limit)
  if (page === null || !beginsLater(page.first, after)) return page
  const events = await readEvents(source, key, after, limit)
  const envelopes = events.length === 0 ? null : events.map(({ envelope }) => envelope).join(',')
  return { ...page, events: events.length, first: events[0]?.sequence ?? null, envelopes }
}

async function readEvents(source: LogSource, key: SessionKey, after: number, limit: number): Promise<StoredEvent[]> {
  const read: StoredEvent[] = []
  while (read.length < limit) {
    const position = after + read.length
    const rows = await listEventsAfter(source.db, key, position, limit - read.length)
    if (!beginsLater(rows[0]?.sequence, position)) return [...read, ...rows]
    const sealed = await readSealedAfter(source, key, position)
    // The Session was purged meanwhile.
    if (sealed.length === 0) return read
    read.push(...sealed.slice(0, limit - read.length))
  }
  return read
}

/** Returns the rest of the page that holds the next Event; a gap is never passed over. */
async function readSealedAfter(source: LogSource, key: SessionKey, after: number): Promise<readonly StoredEvent[]> {
  const events = await readSealedPage(source, key, after + 1)
  const next = events.findIndex(({ sequence }) => sequence === after + 1)
  return next === -1 ? [] : events.slice(next)
}
