import { text } from 'node:stream/consumers'
import type { SignedStatement } from '@berth/contract'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findArtifact } from '../artifacts/artifact-sql.ts'
import { readSession } from '../session/read-session.ts'
import { findPublication, listSigned } from './publication-sql.ts'

/**
 * Returns the signed statement on the commit of a Publication, as it was stored.
 * @throws ApiError 404 if the caller does not see the Session, or the Publication carries none
 */
export async function readStatement(
  context: Context,
  principal: Principal,
  key: SessionKey,
  publicationId: string,
): Promise<SignedStatement> {
  await readSession(context, principal, key)
  const statementId = (await findPublication(context.db, key, publicationId))?.statement_id ?? null
  const artifact = statementId === null ? null : await findArtifact(context.db, key, statementId)
  if (artifact === null) throw sessionNotFound()
  return JSON.parse(await text(await context.blobs.get(artifact.sha256)))
}

/** Lists the newest statements on a commit, of the Sessions that the caller sees. */
export async function listStatements({ db }: Context, principal: Principal, commit: string) {
  const ownerId = principal.kind === 'person' ? null : principal.id
  const rows = await listSigned(db, principal.organizationId, ownerId, commit)
  const statements = rows.flatMap(({ session_id: sessionId, id: publicationId, statement_id, ended_at }) =>
    statement_id === null || ended_at === null
      ? []
      : [{ sessionId, publicationId, artifactId: statement_id, commitSha: commit, signedAt: ended_at.toISOString() }],
  )
  return { statements }
}
