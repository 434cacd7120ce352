import { Type } from 'typebox'
import { ArtifactEnvelope, ArtifactPage, ArtifactViewLink } from '../artifact.ts'
import { defaultPageSize } from '../limits.ts'
import { guarded } from '../operation.ts'
import { closed, Uuid } from '../scalar.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'

const read = guarded('Artifacts', 'svc.cloud.sessions:read')

const ArtifactPath = Type.Object({ sessionId: Uuid, artifactId: Uuid })
const contentHeaders = {
  ETag: 'The SHA-256 of the whole content, in quotes.',
  'Content-Disposition': 'Always an attachment.',
  'Accept-Ranges': '`bytes`.',
}

/** Artifacts. */
export const artifactOperations = {
  listArtifacts: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/artifacts',
    summary: 'List Artifacts',
    description: 'Lists the Artifacts of a Session, oldest first.',
    params: SessionPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.artifacts), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of manifests.', schema: ArtifactPage } },
    errors: ['cloud_session_not_found'],
  }),
  getArtifact: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/artifacts/{artifactId}',
    summary: "Read an Artifact's manifest",
    description: 'Returns name, type, size and digest of an Artifact.',
    params: ArtifactPath,
    responses: { 200: { description: 'The manifest.', schema: ArtifactEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  getArtifactContent: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/artifacts/{artifactId}/content',
    summary: "Read an Artifact's bytes",
    description:
      'Returns the content of an Artifact. Supports a `Range` header with one range, `If-Range` and `If-None-Match`.',
    params: ArtifactPath,
    responses: {
      200: { description: 'The bytes.', mediaTypes: ['application/octet-stream'], headers: contentHeaders },
      206: { description: 'The requested range.', mediaTypes: ['application/octet-stream'], headers: contentHeaders },
      304: { description: 'The content has not changed.' },
    },
    errors: ['cloud_session_not_found', 'range_not_satisfiable'],
  }),
  openArtifactView: read({
    method: 'POST',
    path: '/cloud/sessions/{sessionId}/artifacts/{artifactId}/view',
    summary: 'Open HTML or PDF in a sandbox',
    description:
      'Gives a URL that shows an Artifact once within 60 seconds, at a host of its own below the domain of previews. The content has no origin, no cookies and no network, and is served for an hour at most.',
    principal: 'person',
    params: ArtifactPath,
    responses: { 201: { description: 'The URL.', schema: ArtifactViewLink } },
    errors: ['cloud_session_not_found', 'cloud_artifact_not_viewable', 'cloud_preview_unavailable'],
  }),
} as const
