import { Type } from 'typebox'
import { defaultPageSize } from '../limits.ts'
import { CreateMerge, MergeEnvelope, MergePage } from '../merge.ts'
import { operation } from '../operation.ts'
import { CreatePublication, PublicationEnvelope, PublicationPage } from '../publication.ts'
import { ReviewEnvelope } from '../review.ts'
import { closed, Sha256, Uuid } from '../scalar.ts'
import { CreateVerification, VerificationEnvelope, VerificationPage } from '../verification.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'

const PublicationPath = Type.Object({ sessionId: Uuid, publicationId: Uuid })
const VerificationPath = Type.Object({ sessionId: Uuid, verificationId: Uuid })
const MergePath = Type.Object({ sessionId: Uuid, publicationId: Uuid, mergeId: Uuid })
const tag = 'Publications'

/** Reviews, verifications, Publications and Merges. */
export const publicationOperations = {
  reviewRepository: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/review',
    summary: 'Review the changes',
    description:
      'Compares the workspace with its base commit and stores the changes as an immutable revision. It works while a Run is active, too. With `revision` it reads one that was stored before, such as that of `svc.revision.created`, and needs no workspace.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object({ revision: Type.Optional(Sha256) }, closed),
    responses: { 200: { description: 'The review.', schema: ReviewEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_repository_grant_required',
      'cloud_github_connection_required',
      'cloud_repository_unavailable',
      'cloud_repository_permission_denied',
      'cloud_repository_required',
      'cloud_workspace_expired',
      'cloud_review_refused',
      'cloud_workspace_unavailable',
    ],
  }),
  listVerifications: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/verifications',
    summary: 'List verifications',
    description: 'Lists the verifications of a Session, newest first.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.publications), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of verifications.', schema: VerificationPage } },
    errors: ['cloud_session_not_found'],
  }),
  createVerification: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/repository/verifications/{verificationId}',
    summary: 'Verify a revision',
    description:
      "Runs the checks of the Session's environment on exactly the reviewed revision, in a fresh sandbox. Workers do this in the background; no workspace is needed, and none is read. If the Session has results of the same checks on the same tree, the answer has them at once.",
    tag,
    access: 'bearer',
    capability: 'svc.cloud.publications:create',
    params: VerificationPath,
    body: CreateVerification,
    responses: {
      201: { description: 'The verification was admitted.', schema: VerificationEnvelope },
      200: {
        description: 'An earlier request with the same body created the verification.',
        schema: VerificationEnvelope,
      },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_verification_conflict',
      'cloud_repository_required',
      'cloud_checks_required',
      'quota_exceeded',
      'cloud_compute_not_configured',
      'cloud_compute_outdated',
    ],
  }),
  getVerification: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/verifications/{verificationId}',
    summary: 'Read a verification',
    description: 'Returns a verification as it is now.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: VerificationPath,
    responses: { 200: { description: 'The verification.', schema: VerificationEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  listPublications: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications',
    summary: 'List Publications',
    description: 'Lists the Publications of a Session, newest first, including failed ones.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.publications), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of Publications.', schema: PublicationPage } },
    errors: ['cloud_session_not_found'],
  }),
  createPublication: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}',
    summary: 'Publish a revision',
    description:
      'Delivers exactly the reviewed revision. Workers do this in the background: until the status is final, read the Publication again, and never repeat the request under another id.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.publications:create',
    params: PublicationPath,
    body: CreatePublication,
    responses: {
      201: { description: 'The Publication was admitted.', schema: PublicationEnvelope },
      200: {
        description: 'An earlier request with the same body created the Publication.',
        schema: PublicationEnvelope,
      },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_publication_conflict',
      'cloud_verification_required',
      'cloud_github_connection_required',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
      'cloud_repository_required',
      'cloud_workspace_expired',
      'invalid_input',
    ],
  }),
  getPublication: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}',
    summary: 'Read a Publication',
    description: 'Returns a Publication as it is now.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: PublicationPath,
    responses: { 200: { description: 'The Publication.', schema: PublicationEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  listMerges: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/merges',
    summary: 'List Merges',
    description: 'Lists the Merges of a Publication, newest first.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: PublicationPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.merges), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of Merges.', schema: MergePage } },
    errors: ['cloud_session_not_found'],
  }),
  createMerge: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/merges/{mergeId}',
    summary: 'Merge a pull request',
    description: "Merges the Publication's pull request at exactly the published head, or not at all.",
    tag,
    access: 'bearer',
    capability: 'svc.cloud.merges:create',
    params: MergePath,
    body: CreateMerge,
    responses: {
      201: { description: 'The Merge was admitted.', schema: MergeEnvelope },
      200: { description: 'An earlier request with the same body created the Merge.', schema: MergeEnvelope },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_publication_merge_conflict',
      'cloud_publication_not_mergeable',
      'cloud_github_connection_required',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
      'invalid_input',
    ],
  }),
  getMerge: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/merges/{mergeId}',
    summary: 'Read a Merge',
    description: 'Returns a Merge as it is now.',
    tag,
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: MergePath,
    responses: { 200: { description: 'The Merge.', schema: MergeEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
} as const
