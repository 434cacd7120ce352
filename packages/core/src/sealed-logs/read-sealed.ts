import { buffer } from 'node:stream/consumers'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type EventPage, findEventPage } from './page-sql.ts'
import { unpackPage } from './page-text.ts'

/** Where a log lies: its newest part in the database, the rest in blobs once it is sealed. */
export interface LogSource {
  readonly db: Queryable
  readonly blobs: Pick<Blobs, 'get'>
}

/** An Event as it was stored. */
export interface SealedEvent {
  readonly sequence: number
  readonly envelope: string
}

/**
 * Returns the Events of the page that holds the given one, in order.
 * @returns empty if that Event is not sealed
 * @throws BlobsUnavailable, BlobMissing
 */
export async function readSealedPage(
  { db, blobs }: LogSource,
  key: SessionKey,
  sequence: number,
): Promise<readonly SealedEvent[]> {
  const page = await findEventPage(db, key, sequence)
  return page === null ? [] : openPage(blobs, page)
}

/** Reads a page back, byte for byte. */
export async function openPage(
  blobs: Pick<Blobs, 'get'>,
  { first_sequence: first, sha256, text_sha256: textSha256 }: EventPage,
): Promise<readonly SealedEvent[]> {
  const envelopes = await unpackPage({ bytes: await buffer(await blobs.get(sha256)), textSha256 })
  return envelopes.map((envelope, n) => ({ sequence: first + n, envelope }))
}
