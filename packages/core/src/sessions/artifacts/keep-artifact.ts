import { randomUUID } from 'node:crypto'
import type { ArtifactKind } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { EventDraft } from '../log/envelope.ts'
import { insertArtifact } from './artifact-sql.ts'

/** An Artifact whose bytes are in the blob store already. */
export interface NewArtifact {
  readonly runId: string | null
  readonly kind: ArtifactKind
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
  readonly sha256: string
}

/**
 * Stores an Artifact in the caller's transaction, under the Session's lock.
 * @returns its id and the Event that announces it, which the caller appends in the order of keeping
 */
export async function keepArtifact(
  tx: Queryable,
  key: SessionKey,
  artifact: NewArtifact,
  now: Date,
): Promise<{ id: string; draft: EventDraft }> {
  const id = randomUUID()
  const { runId, kind, name, mediaType, sizeBytes, sha256 } = artifact
  await insertArtifact(tx, key.organizationId, {
    session_id: key.sessionId,
    id,
    run_id: runId,
    kind,
    name,
    media_type: mediaType,
    size_bytes: sizeBytes,
    sha256,
    created_at: now,
  })
  const data = { artifactId: id, kind, name, mediaType, sizeBytes, sha256 }
  return { id, draft: { type: 'svc.artifact.created', ...(runId !== null && { runId }), data } }
}

/** Returns the Event for an Artifact that was too large to keep; the Run does not fail for it. */
export function omitted(
  runId: string | null,
  data: {
    readonly kind: string
    readonly name: string
    readonly sizeBytes: number
    readonly count?: number
    readonly reason: string
  },
): EventDraft {
  return { type: 'svc.artifact.omitted', ...(runId !== null && { runId }), data }
}
