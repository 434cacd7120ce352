import { createHash } from 'node:crypto'
import { invalidField } from './refusal.ts'

/** A place in a list ordered by time and id, newest first. */
export interface Place {
  readonly updatedAt: Date
  readonly id: string
}

/** Encodes a place: eight bytes of milliseconds, sixteen of id, and eight that identify the list. Opaque to clients. */
function encodeCursor(list: string, place: Place): string {
  const bytes = Buffer.alloc(24)
  bytes.writeBigInt64BE(BigInt(place.updatedAt.getTime()))
  bytes.write(place.id.replaceAll('-', ''), 8, 'hex')
  return Buffer.concat([bytes, markOf(list)]).toString('base64url')
}

const markOf = (list: string): Buffer => createHash('sha256').update(list).digest().subarray(0, 8)

/**
 * Returns one page of rows that were read one beyond the limit, with the cursor to continue from. A last page has a
 * cursor too.
 * @param list names the list and its parameters; cursors of other lists are refused
 */
export function pageOf<Row extends { readonly id: string }>(
  list: string,
  rows: readonly Row[],
  limit: number,
  timeOf: (row: Row) => Date,
): { readonly page: readonly Row[]; readonly nextCursor: string | null; readonly hasMore: boolean } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = last === undefined ? null : encodeCursor(list, { updatedAt: timeOf(last), id: last.id })
  return { page, nextCursor, hasMore: rows.length > limit }
}

/**
 * Decodes a cursor.
 * @throws ApiError 400 `invalid_request`, path `cursor`, for text that no page of this list returned
 */
export function decodeCursor(list: string, text: string): Place {
  const bytes = Buffer.from(text, 'base64url')
  const ours = bytes.length === 32 && bytes.toString('base64url') === text && bytes.subarray(24).equals(markOf(list))
  if (ours) {
    const updatedAt = new Date(Number(bytes.readBigInt64BE()))
    const hex = bytes.toString('hex', 8, 24)
    const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
    if (updatedAt.getTime() >= 0 && updatedAt.getUTCFullYear() < 10_000) return { updatedAt, id }
  }
  throw invalidField(['cursor'], 'is not a cursor that a page of this list gave')
}

/**
 * Reads a page of a list.
 * @param read returns at most `limit` rows from a place on; null: from the beginning
 * @throws ApiError 400 `invalid_request`, path `cursor`, for text that no page of this list returned
 */
export async function readPage<Row extends { readonly id: string; readonly created_at: Date }>(
  list: string,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  read: (from: Place | null, limit: number) => Promise<readonly Row[]>,
): Promise<ReturnType<typeof pageOf<Row>>> {
  const rows = await read(cursor === undefined ? null : decodeCursor(list, cursor), limit + 1)
  return pageOf(list, rows, limit, row => row.created_at)
}
