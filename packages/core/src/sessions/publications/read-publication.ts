import type { Publication, PublicationPage } from '@berth/contract'
import { readPage } from '@berth/platform/kit/list-cursor.ts'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { toPublication } from './publication.ts'
import { findPublication, listPublications } from './publication-sql.ts'

/**
 * Returns a Publication of a Session that the caller sees.
 * @throws ApiError 404
 */
export async function readPublication(
  context: Context,
  principal: Principal,
  key: SessionKey,
  id: string,
): Promise<Publication> {
  await readSession(context, principal, key)
  const row = await findPublication(context.db, key, id)
  if (row === null) throw sessionNotFound()
  return toPublication(row)
}

/**
 * Returns a page of a Session's Publications, newest first.
 * @throws ApiError 404
 * @throws ApiError 400 if the cursor is of another list
 */
export async function pagePublications(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { limit: number; cursor?: string },
): Promise<PublicationPage> {
  await readSession(context, principal, key)
  const { page, ...more } = await readPage(`publications ${key.sessionId}`, query, (before, limit) =>
    listPublications(context.db, key, before, limit),
  )
  return { publications: page.map(toPublication), ...more }
}
