import type { ArtifactPage } from '@berth/contract'
import { readPage } from '@berth/platform/kit/list-cursor.ts'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { type ArtifactRow, toArtifact } from './artifact.ts'
import { findArtifact, listArtifacts } from './artifact-sql.ts'

/**
 * Returns an Artifact of a Session that the caller sees, checked on every request.
 * @throws ApiError 404
 */
export async function readArtifact(
  context: Context,
  principal: Principal,
  key: SessionKey,
  id: string,
): Promise<ArtifactRow> {
  await readSession(context, principal, key)
  const row = await findArtifact(context.db, key, id)
  if (row === null) throw sessionNotFound()
  return row
}

/**
 * Returns a page of a Session's Artifacts, oldest first.
 * @throws ApiError 404
 * @throws ApiError 400 if the cursor is of another list
 */
export async function pageArtifacts(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { limit: number; cursor?: string },
): Promise<ArtifactPage> {
  await readSession(context, principal, key)
  const { page, ...more } = await readPage(`artifacts ${key.sessionId}`, query, (after, limit) =>
    listArtifacts(context.db, key, after?.id ?? null, limit),
  )
  return { artifacts: page.map(toArtifact), ...more }
}
