import type { Merge, MergePage } from '@berth/contract'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readPublication } from '../publications/read-publication.ts'
import { toMerge } from './merge.ts'
import { findMerge, listMerges, type MergeKey } from './merge-sql.ts'

/**
 * Returns a Merge of a Publication that the caller sees.
 * @throws ApiError 404
 */
export async function readMerge(context: Context, principal: Principal, key: MergeKey, id: string): Promise<Merge> {
  await readPublication(context, principal, key, key.publicationId)
  const row = await findMerge(context.db, key, id)
  if (row === null) throw sessionNotFound()
  return toMerge(row)
}

/**
 * Returns a page of a Publication's Merges, newest first.
 * @throws ApiError 404
 * @throws ApiError 400 if the cursor is of another list
 */
export async function pageMerges(
  context: Context,
  principal: Principal,
  key: MergeKey,
  query: { limit: number; cursor?: string },
): Promise<MergePage> {
  await readPublication(context, principal, key, key.publicationId)
  const list = `merges ${key.sessionId} ${key.publicationId}`
  const before = query.cursor === undefined ? null : decodeCursor(list, query.cursor)
  const rows = await listMerges(context.db, key, before, query.limit + 1)
  const { page, ...more } = pageOf(list, rows, query.limit, row => row.created_at)
  return { merges: page.map(toMerge), ...more }
}
