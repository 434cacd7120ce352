import { type Static, Type } from 'typebox'
import { capabilities } from './capability.ts'
import { OpenObject, open, openString } from './scalar.ts'

/** Every refusal the service can name, with its status and cause (interface 7.3). The set is open to clients. */
export const errors = {
  invalid_request: { status: 400, cause: 'A body, query or header field was refused; `issues` names each.' },
  invalid_path_parameter: { status: 400, cause: 'A path segment is not a valid id; `parameter` names it.' },
  invalid_input: { status: 400, cause: 'A value is refused after its form was accepted, or by a repository list.' },
  malformed_request_body: { status: 400, cause: 'The body is not JSON.' },
  malformed_request: { status: 400, cause: 'The request is not well-formed HTTP.' },
  invalid_organization: { status: 400, cause: 'The organization header is malformed or repeated.' },
  organization_header_not_allowed: { status: 400, cause: 'The organization header came with a bearer.' },
  cloud_repository_branch_not_found: { status: 400, cause: '`source.baseBranch` does not resolve.' },
  upstream_request_refused: { status: 400, cause: 'The model provider refused the request.' },
  bearer_credential_required: { status: 401, cause: 'No bearer credential was sent.' },
  invalid_or_expired_credential: { status: 401, cause: 'The credential is expired, revoked or not for this API.' },
  cost_budget_exceeded: { status: 402, cause: 'The Run has spent its budget.' },
  cost_unknown: { status: 402, cause: 'The Run has a budget, and the model has no price.' },
  audio_file_required: { status: 400, cause: 'The form has no `file` part.' },
  invalid_audio_duration: { status: 400, cause: '`durationMs` is missing, fractional or out of range.' },
  invalid_audio_upload: { status: 400, cause: 'The form is malformed, or holds more than one file and one field.' },
  cloud_access_denied: { status: 403, cause: 'The credential lacks `svc.cloud.access`.' },
  insufficient_scope: { status: 403, cause: 'The credential lacks the capability in `requiredScope`.' },
  installation_principal_required: { status: 403, cause: 'Only an installation may do this.' },
  environment_forbidden: { status: 403, cause: 'The caller may not read, manage or select environments.' },
  cloud_repository_grant_required: { status: 403, cause: 'No live grant covers the repository.' },
  cloud_github_connection_required: { status: 403, cause: 'The connection to the Git host is missing or expired.' },
  cloud_repository_unavailable: { status: 403, cause: 'The repository is not to be reached through the grant.' },
  cloud_repository_permission_denied: { status: 403, cause: 'The Git host refuses the operation.' },
  unknown_endpoint: { status: 404, cause: 'The path is not part of the API.' },
  cloud_session_not_found: { status: 404, cause: 'The Session, or what was asked of it, is missing or unseen.' },
  cloud_repository_grant_not_found: { status: 404, cause: 'The installation has no such grant.' },
  environment_not_found: { status: 404, cause: 'The organization has no such environment.' },
  model_not_found: { status: 404, cause: 'No provider serves the model to the caller.' },
  method_not_allowed: { status: 405, cause: 'The path does not answer the method; `allow` lists those it does.' },
  representation_not_acceptable: { status: 406, cause: 'No representation matches `Accept`.' },
  request_timeout: { status: 408, cause: 'The request did not arrive in time.' },
  cloud_session_conflict: { status: 409, cause: 'The id was used with another body.' },
  cloud_session_settled: { status: 409, cause: 'The Session has settled on another value.' },
  cloud_turn_conflict: { status: 409, cause: 'The id was used with another body.' },
  cloud_run_in_progress: { status: 409, cause: 'A Run of the Session has not ended.', retryAfterSeconds: 2 },
  cloud_session_finalizing: { status: 409, cause: 'The last Run is being sealed.', retryAfterSeconds: 2 },
  cloud_resume_unavailable: { status: 409, cause: 'The Session cannot continue.' },
  cloud_reset_unavailable: { status: 409, cause: 'The Session has work to go on from, or lost it otherwise.' },
  cloud_interaction_conflict: { status: 409, cause: 'The Interaction is closed, or another answer won.' },
  cloud_turn_limit_reached: { status: 409, cause: 'The Session holds as many Turns as it can.' },
  cloud_repository_required: { status: 409, cause: 'The Session has no repository.' },
  cloud_workspace_expired: { status: 409, cause: 'The workspace is not attached; restore it first.' },
  cloud_review_refused: {
    status: 409,
    cause: 'What the workspace holds cannot be delivered: too large, or no tree that git takes; `message` says what.',
  },
  cloud_publication_conflict: { status: 409, cause: 'The id was used with another body.' },
  cloud_publication_in_progress: { status: 409, cause: 'A Publication of the Session is under way.' },
  cloud_publication_not_mergeable: { status: 409, cause: 'The Publication has no pull request, or has not succeeded.' },
  cloud_publication_merge_conflict: { status: 409, cause: 'The id was used with another body.' },
  request_entity_too_large: { status: 413, cause: 'The body is larger than the endpoint takes.' },
  audio_too_large: { status: 413, cause: 'The recording is larger than 20 MiB.' },
  uri_too_long: { status: 414, cause: 'The request target is too long.' },
  range_not_satisfiable: { status: 416, cause: 'The range lies outside the content; `Content-Range` has its size.' },
  unsupported_audio_format: { status: 415, cause: 'The recording is not FLAC, MP3, MP4/M4A, Ogg, WAV or WebM.' },
  invalid_audio: { status: 422, cause: 'The recording cannot be decoded, or not to the length that was named.' },
  empty_transcript: { status: 422, cause: 'Nothing is said in the recording.' },
  unsupported_media_type: { status: 415, cause: 'The body is not JSON by its media type.' },
  cloud_rate_limit_exceeded: { status: 429, cause: "The caller's bucket is empty.", retryAfter: true },
  cloud_auth_rate_limit_exceeded: { status: 429, cause: "The address's bucket is empty.", retryAfter: true },
  insufficient_quota: { status: 429, cause: 'A budget of the key or the organization is spent.', retryAfter: true },
  upstream_rate_limited: { status: 429, cause: 'The model provider limits the rate.', retryAfter: true },
  request_header_fields_too_large: { status: 431, cause: 'The request headers are too large.' },
  internal_error: { status: 500, cause: 'An unexpected fault; the request may have taken effect.' },
  upstream_credential_refused: { status: 502, cause: "The model provider refused the gateway's credential." },
  upstream_failed: { status: 502, cause: 'The model provider failed.' },
  upstream_invalid_response: { status: 502, cause: 'The model provider answered with something that is no answer.' },
  upstream_unreachable: { status: 502, cause: 'The model provider cannot be reached.' },
  upstream_cut: { status: 502, cause: 'The model provider broke off its answer.' },
  upstream_timeout: { status: 504, cause: 'The model provider did not answer in time.' },
  upstream_overloaded: { status: 503, cause: 'The model provider is overloaded.', retryAfter: true },
  identity_service_unavailable: { status: 503, cause: 'The credential could not be judged.', retryAfterSeconds: 2 },
  service_unavailable: { status: 503, cause: 'Restarting, or the database does not answer.', retryAfterSeconds: 2 },
  transcription_not_configured: {
    status: 503,
    cause: 'No engine for transcription is configured, or a program of it is missing; `message` says what.',
  },
  transcription_unavailable: {
    status: 503,
    cause: 'The engine for transcription is busy or failed.',
    retryAfterSeconds: 2,
  },
  cloud_rate_limit_unavailable: { status: 503, cause: 'The rate limiter failed.', retryAfterSeconds: 1 },
  cloud_agent_catalog_unavailable: {
    status: 503,
    cause: 'No worker is there to say what it can run.',
    retryAfterSeconds: 2,
  },
  cloud_workspace_starting: { status: 503, cause: 'The workspace is still being brought up.', retryAfterSeconds: 2 },
  cloud_workspace_unavailable: { status: 503, cause: 'No workspace could be brought up.', retryAfterSeconds: 2 },
  event_stream_unavailable: { status: 503, cause: 'This process serves all the streams it can.', retryAfterSeconds: 2 },
} as const satisfies Record<string, ErrorKind>

/** How one code is answered. */
export interface ErrorKind {
  readonly status: number
  /** Prose for the documentation. */
  readonly cause: string
  /** The delay when it is a constant (interface 7.2). */
  readonly retryAfterSeconds?: number
  /** The delay comes with the refusal. */
  readonly retryAfter?: boolean
}

export type ErrorCode = keyof typeof errors

/** One refused field (interface 7.1). */
export const Issue = Type.Object(
  {
    path: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description: 'Outermost first; an integer is an array index.',
    }),
    message: Type.String({ description: 'Prose for people; not part of the contract.' }),
  },
  { title: 'Issue', ...open },
)

/** The body of every refusal (interface 7.1). */
export const ErrorBody = Type.Object(
  {
    error: openString(Object.keys(errors), 'A machine code. The set is open.'),
    requiredScope: Type.Optional(openString(capabilities, 'With `insufficient_scope`.')),
    retryAfterSeconds: Type.Optional(Type.Integer({ minimum: 1, description: 'With `cloud_rate_limit_exceeded`.' })),
    issues: Type.Optional(Type.Array(Issue, { description: 'With `invalid_request` and `invalid_input`.' })),
    parameter: Type.Optional(Type.String({ description: 'With `invalid_path_parameter`.' })),
    mediaType: Type.Optional(Type.String({ description: 'With `unsupported_media_type`, when one was sent.' })),
    message: Type.Optional(
      Type.String({
        description:
          'With `transcription_not_configured`: what to mend. With `cloud_review_refused`: the path that git cannot take, or the bound that the changes go over.',
      }),
    ),
    allow: Type.Optional(Type.Array(Type.String(), { description: 'With `method_not_allowed`.' })),
    outcome: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        ...OpenObject,
        description: 'With `cloud_interaction_conflict`, where another decision won: that decision.',
      }),
    ),
  },
  { title: 'Error', description: 'A refusal.', ...open },
)

export type Issue = Static<typeof Issue>
export type ErrorBody = Static<typeof ErrorBody>
