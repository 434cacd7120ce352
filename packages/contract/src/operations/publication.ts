import { Type } from 'typebox'
import { CommitOid } from '../commit.ts'
import { FollowUpEnvelope, FollowUpRequest, PullRequestPage, pullRequestStates } from '../follow-up.ts'
import { defaultPageSize } from '../limits.ts'
import { CreateMerge, MergeEnvelope, MergePage } from '../merge.ts'
import { guarded, operation } from '../operation.ts'
import { CreatePublication, PublicationEnvelope, PublicationPage } from '../publication.ts'
import { ReviewEnvelope } from '../review.ts'
import { closed, Sha256, Uuid } from '../scalar.ts'
import { SignedStatement, SigstoreBundle, StatementList } from '../statement.ts'
import { CreateVerification, VerificationEnvelope, VerificationPage } from '../verification.ts'
import { admitted, Cursor, pageLimit, SessionPath } from './parameters.ts'

const PublicationPath = Type.Object({ sessionId: Uuid, publicationId: Uuid })
const VerificationPath = Type.Object({ sessionId: Uuid, verificationId: Uuid })
const MergePath = Type.Object({ sessionId: Uuid, publicationId: Uuid, mergeId: Uuid })
const tag = 'Publications'
const publish = guarded(tag, 'svc.cloud.publications:create')
const read = guarded(tag, 'svc.cloud.sessions:read')

/** Reviews, verifications, Publications and Merges. */
export const publicationOperations = {
  reviewRepository: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/review',
    summary: 'Review the changes',
    description:
      'Compares the workspace with its base commit and stores the changes as an immutable revision. It works while a Run is active, too. With `revision` it reads one that was stored before, such as that of `svc.revision.created`, and needs no workspace.',
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
  listVerifications: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/verifications',
    summary: 'List verifications',
    description: 'Lists the verifications of a Session, newest first.',
    params: SessionPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.publications), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of verifications.', schema: VerificationPage } },
    errors: ['cloud_session_not_found'],
  }),
  createVerification: publish({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/repository/verifications/{verificationId}',
    summary: 'Verify a revision',
    description:
      "Runs the checks of the Session's environment on exactly the reviewed revision, in a fresh sandbox. Workers do this in the background; no workspace is needed, and none is read. If the Session has results of the same checks on the same tree, the answer has them at once.",
    params: VerificationPath,
    body: CreateVerification,
    responses: admitted('verification', VerificationEnvelope),
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
  getVerification: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/repository/verifications/{verificationId}',
    summary: 'Read a verification',
    description: 'Returns a verification as it is now.',
    params: VerificationPath,
    responses: { 200: { description: 'The verification.', schema: VerificationEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  cancelVerification: publish({
    method: 'DELETE',
    path: '/v1/sessions/{sessionId}/repository/verifications/{verificationId}',
    summary: 'Cancel a verification',
    description: 'Gives its sandbox back. A verification that has ended stays as it ended.',
    params: VerificationPath,
    responses: { 200: { description: 'The verification, which has ended.', schema: VerificationEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  listPublications: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications',
    summary: 'List Publications',
    description: 'Lists the Publications of a Session, newest first, including failed ones.',
    params: SessionPath,
    query: Type.Object({ limit: pageLimit(defaultPageSize.publications), cursor: Cursor }, closed),
    responses: { 200: { description: 'A page of Publications.', schema: PublicationPage } },
    errors: ['cloud_session_not_found'],
  }),
  createPublication: publish({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}',
    summary: 'Publish a revision',
    description:
      'Delivers exactly the reviewed revision. Workers do this in the background: until the status is final, read the Publication again, and never repeat the request under another id.',
    params: PublicationPath,
    body: CreatePublication,
    responses: admitted('Publication', PublicationEnvelope),
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
  getPublication: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}',
    summary: 'Read a Publication',
    description: 'Returns a Publication as it is now.',
    params: PublicationPath,
    responses: { 200: { description: 'The Publication.', schema: PublicationEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  getStatement: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/statement',
    summary: 'Read the signed statement',
    description:
      'Returns the signed statement on the commit of a Publication that was verified: an in-toto Statement in a DSSE envelope, or with `format=sigstore` in a Sigstore bundle. A Publication that has not ended well, or that no passed verification stood for, has none.',
    params: PublicationPath,
    query: Type.Object({ format: Type.Enum(['dsse', 'sigstore'], { type: 'string', default: 'dsse' }) }, closed),
    responses: {
      200: { description: 'The envelope, or the bundle.', schema: Type.Union([SignedStatement, SigstoreBundle]) },
    },
    errors: ['cloud_session_not_found'],
  }),
  listStatements: read({
    method: 'GET',
    path: '/v1/statements',
    summary: 'Find the statements on a commit',
    description: 'Lists the newest signed statements on a commit, of the Sessions that the caller sees.',
    query: Type.Object({ commit: CommitOid }, closed),
    responses: { 200: { description: 'The statements, newest first.', schema: StatementList } },
    errors: [],
  }),
  listMerges: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/merges',
    summary: 'List Merges',
    description: 'Lists the Merges of a Publication, newest first.',
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
    responses: admitted('Merge', MergeEnvelope),
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
  getMerge: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/merges/{mergeId}',
    summary: 'Read a Merge',
    description: 'Returns a Merge as it is now.',
    params: MergePath,
    responses: { 200: { description: 'The Merge.', schema: MergeEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  getFollowUp: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/follow-up',
    summary: 'Read a follow-up',
    description:
      'Returns what the service does for the pull request of a Publication. Each Publication of it finds it.',
    params: PublicationPath,
    responses: { 200: { description: 'The follow-up.', schema: FollowUpEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_follow_up_not_found'],
  }),
  putFollowUp: publish({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/follow-up',
    summary: 'Follow a pull request',
    description:
      'Carries a pull request on until it is merged: failed checks, reviews, conflicts and a moved base make Turns of the Session, and their work is pushed to the pull request. Replaces the bounds if there is a follow-up already, and resumes one that needs a person or was stopped: its attempts begin at none again.',
    params: PublicationPath,
    body: FollowUpRequest,
    responses: { 200: { description: 'The follow-up.', schema: FollowUpEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_follow_up_ended',
      'cloud_publication_not_mergeable',
      'cloud_github_connection_required',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
    ],
  }),
  stopFollowUp: publish({
    method: 'DELETE',
    path: '/v1/sessions/{sessionId}/publications/{publicationId}/follow-up',
    summary: 'Stop a follow-up',
    description:
      'Stops following a pull request. A Run that is at it goes on, but nothing of it is pushed. One that has ended stays as it is.',
    params: PublicationPath,
    responses: { 200: { description: 'The follow-up.', schema: FollowUpEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_follow_up_not_found'],
  }),
  listPullRequests: read({
    method: 'GET',
    path: '/v1/pull-requests',
    summary: 'List pull requests',
    description: 'Lists the pull requests that Sessions have published, the last changed first.',
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.pullRequests),
        cursor: Cursor,
        state: Type.Optional(Type.Enum(pullRequestStates, { type: 'string' })),
        mine: Type.Optional(
          Type.Enum(['true'], {
            type: 'string',
            description: 'Only those of Sessions that the person of the credential started.',
          }),
        ),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of pull requests.', schema: PullRequestPage } },
    errors: [],
  }),
} as const
