import type { PublicationResult } from '@berth/contract'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { NewArtifact } from '../artifacts/keep-artifact.ts'
import { findReview } from '../reviews/review-sql.ts'
import { findSession } from '../session/session-sql.ts'
import { signStatement } from '../statements/envelope.ts'
import { collectStatement } from '../statements/statement.ts'
import { statementSigner } from '../statements/statement-keys.ts'
import { findVerification } from '../verifications/verification-sql.ts'
import { requesterOf } from './publication.ts'
import type { PublicationClaim } from './publication-sql.ts'

/**
 * Signs the statement on the commit of a Publication that was verified, and stores it for the Session's Artifacts; null if no
 * passed verification stood when it was asked for.
 * @throws UnsealError if another master key has sealed the signing key
 */
export async function putStatement(
  context: DeliveryContext,
  claim: PublicationClaim,
  { branch, commitSha: commit }: PublicationResult,
): Promise<NewArtifact | null> {
  const { db, blobs, clock } = context
  const { row } = claim
  if (row.verification_id === null) return null
  const [verification, review, session] = await Promise.all([
    findVerification(db, claim, row.verification_id),
    findReview(db, claim, row.revision),
    findSession(db, claim),
  ])
  if (verification === null || review === null || session?.source == null) {
    throw new Error('a publication names a verification, a revision or a repository that is not there')
  }
  const publication = { id: row.id, revision: row.revision, ...requesterOf(row) }
  const name = `${session.source.label}@${branch}`
  const now = clock.now()
  const statement = await collectStatement(
    context,
    { publication, verification, commit, tree: review.head_tree, name },
    now,
  )
  const envelope = signStatement(statement, await statementSigner(db, now))
  const blob = await blobs.put(Buffer.from(JSON.stringify(envelope)))
  const file = `statement-${commit.slice(0, 12)}.intoto.json`
  return { runId: null, kind: 'statement', name: file, mediaType: 'application/vnd.dsse.envelope.v1+json', ...blob }
}
