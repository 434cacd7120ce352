import { type Static, Type } from 'typebox'
import { Count, DateTime, nullable, open, openString, Sha256, Uuid } from './scalar.ts'

export const artifactKinds = [
  'run_result',
  'presented_file',
  'pull_request_record',
  'check_output',
  'statement',
] as const

/** Manifest of an immutable blob that a Session keeps. */
export const Artifact = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    runId: Type.Optional(Type.String({ format: 'uuid' })),
    kind: openString(artifactKinds),
    name: Type.String(),
    mediaType: Type.String(),
    sizeBytes: Count,
    sha256: Sha256,
    createdAt: DateTime,
  },
  {
    title: 'Artifact',
    description: 'The manifest of an immutable blob that a Session keeps; `getArtifactContent` returns its bytes.',
    ...open,
  },
)

/** Response of `getArtifact`. */
export const ArtifactEnvelope = Type.Object({ artifact: Artifact }, { title: 'ArtifactEnvelope', ...open })

/** A page of Artifacts, oldest first. */
export const ArtifactPage = Type.Object(
  { artifacts: Type.Array(Artifact), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'ArtifactPage', description: 'A page of Artifacts, oldest first.', ...open },
)

/** Response of `openArtifactView`. */
export const ArtifactViewLink = Type.Object(
  { url: Type.String({ format: 'uri', description: 'Opens the view once.' }), expiresAt: DateTime },
  { title: 'ArtifactViewLink', ...open },
)

export type Artifact = Static<typeof Artifact>
export type ArtifactKind = (typeof artifactKinds)[number]
export type ArtifactPage = Static<typeof ArtifactPage>
export type ArtifactViewLink = Static<typeof ArtifactViewLink>
