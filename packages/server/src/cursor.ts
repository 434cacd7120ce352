import type { ApiError } from './api-error.ts'
import { invalidField } from './api-errors.ts'

/** Place in a list ordered by time and id, newest first. */
export interface Place {
  readonly updatedAt: Date
  readonly id: string
}

/** Opaque to clients: sixteen bytes of id behind eight of milliseconds. */
function encodeCursor(place: Place): string {
  const bytes = Buffer.alloc(24)
  bytes.writeBigInt64BE(BigInt(place.updatedAt.getTime()))
  bytes.write(place.id.replaceAll('-', ''), 8, 'hex')
  return bytes.toString('base64url')
}

/** One page of rows that were read one beyond its limit, and where to go on. A last page has a cursor too. */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  timeOf: (row: Row) => Date,
): { readonly page: readonly Row[]; readonly nextCursor: string | null; readonly hasMore: boolean } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = last === undefined ? null : encodeCursor({ updatedAt: timeOf(last), id: last.id })
  return { page, nextCursor, hasMore: rows.length > limit }
}

/** @throws ApiError 400 `invalid_request`, path `cursor`, for text that `encodeCursor` did not make */
export function decodeCursor(text: string): Place {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length === 24 && bytes.toString('base64url') === text) {
    const updatedAt = new Date(Number(bytes.readBigInt64BE()))
    const hex = bytes.toString('hex', 8)
    const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
    if (updatedAt.getTime() >= 0 && updatedAt.getUTCFullYear() < 10_000) return { updatedAt, id }
  }
  throw foreignCursor()
}

/** 400 `invalid_request`, path `cursor`. */
export const foreignCursor = (): ApiError => invalidField(['cursor'], 'is not a cursor that a page of this list gave')
