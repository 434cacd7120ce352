import type { Merge, MergePage } from '@berth/contract'
import { readPage } from '@berth/platform/kit/list-cursor.ts'
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
  const { page, ...more } = await readPage(`merges ${key.sessionId} ${key.publicationId}`, query, (before, limit) =>
    listMerges(context.db, key, before, limit),
  )
  return { merges: page.map(toMerge), ...more }
}
