import { createGunzip } from 'node:zlib'
import type { Review } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { listTurnsAfter } from '../turns/turn-sql.ts'
import type { ReviewDocument } from './make-review.ts'
import { findReview, type ReviewRow } from './review-sql.ts'
import { signalsOf } from './signals/signals-of.ts'

/** @throws ApiError 404 if the Session is not visible to the caller, or has no such revision */
export async function storedReview(
  context: Context,
  principal: Principal,
  key: SessionKey,
  revision: string,
): Promise<ReviewRow> {
  await readSession(context, principal, key)
  const row = await findReview(context.db, key, revision)
  if (row === null) throw refusal('cloud_session_not_found')
  return row
}

/** Messages beyond these name no files. */
const MAX_TURNS = 100

/** Returns a review as it was stored. @throws an error of the store */
export async function readDocument(blobs: Blobs, row: ReviewRow): Promise<ReviewDocument> {
  const bytes = await collect(await blobs.get(row.document_sha256))
  // The service's own words, verified by their digest.
  return JSON.parse(bytes.toString('utf8'))
}

/** Returns a stored review as callers read it. @throws an error of the store */
export async function readReview({ blobs, db }: Context, key: SessionKey, row: ReviewRow): Promise<Review> {
  const [document, turns] = await Promise.all([readDocument(blobs, row), listTurnsAfter(db, key, 0, MAX_TURNS)])
  // Found with each reading, so that a new rule holds for old revisions too.
  const signals = signalsOf(
    document,
    turns.map(({ message }) => message),
  )
  return { ...document, signals, createdAt: row.created_at.toISOString() }
}

/**
 * Returns the diff of a review with every line of each changed file, cut at a bound of bytes, of which some may be no
 * UTF-8; null if it is not stored.
 * @throws an error of the store
 */
export async function readWholeFiles(blobs: Blobs, row: ReviewRow): Promise<Buffer | null> {
  if (row.files_sha256 === null) return null
  const stored = await blobs.get(row.files_sha256)
  const plain = createGunzip()
  stored.on('error', error => plain.destroy(error))
  return await collect(stored.pipe(plain))
}

async function collect(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks)
}
