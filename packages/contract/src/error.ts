import { type Static, Type } from 'typebox'
import { capabilities, permissions } from './capability.ts'
import { OpenObject, open, openString } from './scalar.ts'

/** Every error code of the API, with its status and cause. Clients treat the set as open. */
export const errors = {
  invalid_request: { status: 400, cause: 'A body, query or header field is invalid; `issues` names each one.' },
  invalid_path_parameter: { status: 400, cause: 'A path segment is not a valid id; `parameter` names it.' },
  invalid_input: {
    status: 400,
    cause: 'A value is well formed but not acceptable, or a parameter of a repository list is invalid.',
  },
  malformed_request_body: { status: 400, cause: 'The body is not valid JSON.' },
  malformed_request: { status: 400, cause: 'The request is not well-formed HTTP.' },
  invalid_organization: {
    status: 400,
    cause: 'The organization header is malformed, appears more than once, or is missing in a request of the console.',
  },
  organization_header_not_allowed: {
    status: 400,
    cause: 'The organization header was sent together with a bearer credential.',
  },
  invalid_url: {
    status: 400,
    cause: 'The URL is not an HTTPS URL of a public host, or its host has no address that is public.',
  },
  invalid_event_families: { status: 400, cause: 'No family is named, one is named twice, or one is unknown.' },
  environment_invalid: {
    status: 400,
    cause: 'The document, secret, extension or archive of an environment is not valid; `issues` names each fault.',
  },
  cloud_repository_branch_not_found: {
    status: 400,
    cause:
      'The repository has commits, and no branch `source.baseBranch`, or no default branch; `message` may say more.',
  },
  git_connection_refused: {
    status: 400,
    cause:
      'The browser has begun no such connection within ten minutes, it was finished already, or the host refused the code.',
  },
  upstream_request_refused: { status: 400, cause: 'The model provider refused the request.' },
  bearer_credential_required: { status: 401, cause: 'No bearer credential was sent.' },
  invalid_assertion: {
    status: 401,
    cause: 'The assertion is not valid: check its key, signature, audience and dates.',
  },
  invalid_or_expired_credential: {
    status: 401,
    cause: 'The credential is unknown, expired, revoked or meant for another API.',
  },
  invalid_signature: {
    status: 401,
    cause:
      'There is no such hook, or no secret of it has signed this body, or it was signed more than five minutes ago or ahead.',
  },
  sign_in_required: { status: 401, cause: 'Nobody is signed in at this browser, or no longer.' },
  cost_budget_exceeded: { status: 402, cause: 'The Run has spent its cost budget.' },
  budget_reached: {
    status: 402,
    cause:
      'A budget of the Session, or of whom it is for, is reached. The Run waits for people; repeat the request later.',
  },
  cost_unknown: { status: 402, cause: 'A budget counts the request, and the price of the model is not configured.' },
  audio_file_required: { status: 400, cause: 'The form has no `file` part.' },
  invalid_audio_duration: { status: 400, cause: '`durationMs` is missing, fractional or out of range.' },
  invalid_audio_upload: { status: 400, cause: 'The form is malformed, or contains more than `file` and `durationMs`.' },
  cloud_access_denied: { status: 403, cause: 'The credential lacks `svc.cloud.access`.' },
  insufficient_scope: { status: 403, cause: 'The credential lacks the capability in `requiredScope`.' },
  installation_principal_required: { status: 403, cause: 'Only an installation may call this operation.' },
  cross_site_request_refused: {
    status: 403,
    cause: 'The request came from a page of another site, or to the console from none of its own.',
  },
  recent_sign_in_required: {
    status: 403,
    cause: 'The person proved who they are more than ten minutes ago; call `stepUpInConsole` first.',
  },
  environment_forbidden: { status: 403, cause: 'The caller may not read, manage or select environments.' },
  cloud_repository_grant_required: { status: 403, cause: 'No active grant covers the repository.' },
  cloud_github_connection_required: { status: 403, cause: 'The connection to the Git host is missing or expired.' },
  cloud_repository_unavailable: { status: 403, cause: 'The repository cannot be reached through the grant.' },
  cloud_repository_permission_denied: { status: 403, cause: 'The Git host does not permit the operation.' },
  cloud_compute_not_configured: {
    status: 403,
    cause: 'The organization runs on hosts of its own alone, and none of them has ever connected.',
  },
  unknown_endpoint: { status: 404, cause: 'The API has no such path, or the service was built without it.' },
  cloud_follow_up_not_found: {
    status: 404,
    cause: 'Nothing follows the pull request of the Publication; `putFollowUp` begins it.',
  },
  cloud_session_not_found: {
    status: 404,
    cause: 'The Session, or the resource within it, does not exist or is not visible to the caller.',
  },
  workspace_file_not_found: { status: 404, cause: 'The workspace has nothing at this path.' },
  cloud_push_subscription_not_found: { status: 404, cause: 'The membership has no such browser that is pushed to.' },
  cloud_terminal_not_found: { status: 404, cause: 'The person has no such terminal in the workspace, or no longer.' },
  cloud_repository_grant_not_found: { status: 404, cause: 'The installation has no such grant.' },
  trigger_not_found: { status: 404, cause: 'The installation has no such trigger.' },
  environment_not_found: { status: 404, cause: 'The organization has no such environment.' },
  environment_trial_not_found: {
    status: 404,
    cause: 'The environment has no such trial, or it is not visible to the caller.',
  },
  app_not_found: { status: 404, cause: 'The organization has no such app.' },
  app_key_not_found: { status: 404, cause: 'The app has no such key.' },
  installation_not_found: {
    status: 404,
    cause: 'There is no such live installation of the app, or in the organization.',
  },
  webhook_endpoint_not_found: { status: 404, cause: 'The installation has no such webhook endpoint.' },
  webhook_delivery_not_found: { status: 404, cause: 'The endpoint has no such delivery, or it was forgotten.' },
  setup_authority_not_found: {
    status: 404,
    cause: 'The installation has no such consent, or whoever gave it has left the organization.',
  },
  organization_not_found: {
    status: 404,
    cause: 'There is no such organization, or it is not the one of the credential.',
  },
  sign_in_not_found: { status: 404, cause: 'The person has no such sign-in.' },
  membership_not_found: { status: 404, cause: 'The organization has no such member.' },
  connection_not_found: { status: 404, cause: 'The organization itself, or the person, has no such connection.' },
  git_host_not_found: {
    status: 404,
    cause: 'This service has no such Git host, or people cannot connect accounts of their own there.',
  },
  installation_intent_not_found: { status: 404, cause: 'The app has no such intent.' },
  integration_not_found: { status: 404, cause: 'The organization has no such integration.' },
  host_not_found: { status: 404, cause: 'The organization has no such host of its own.' },
  api_key_not_found: { status: 404, cause: 'The integration has no such active key.' },
  model_not_found: { status: 404, cause: 'No provider serves this model to the caller.' },
  method_not_allowed: { status: 405, cause: 'The path does not support the method; `allow` lists the supported ones.' },
  representation_not_acceptable: { status: 406, cause: 'No available media type matches `Accept`.' },
  request_timeout: { status: 408, cause: 'The request did not arrive in time.' },
  cloud_session_conflict: { status: 409, cause: 'A Session with this id was created with a different body.' },
  cloud_session_settled: {
    status: 409,
    cause: 'The Session has already settled on another value, which can no longer change.',
  },
  cloud_turn_conflict: { status: 409, cause: 'A Turn with this id was admitted with a different body.' },
  cloud_next_turn_conflict: {
    status: 409,
    cause: "Another message waits in the Session than the one that this was to replace, or it is another person's.",
  },
  cloud_run_in_progress: { status: 409, cause: 'The Session has an active Run.', retryAfterSeconds: 2 },
  cloud_steering_unsupported: {
    status: 409,
    cause:
      'The agent of the Session cannot be given a message while it works. Send it without `mode` once the Run has ended, or cancel the Run first.',
  },
  cloud_session_finalizing: {
    status: 409,
    cause: 'The service is still storing the checkpoint of the last Run.',
    retryAfterSeconds: 2,
  },
  cloud_resume_unavailable: { status: 409, cause: 'The Session cannot continue; `continuation` says why.' },
  cloud_reset_unavailable: {
    status: 409,
    cause: 'The Session still has work to continue from, or lost it in a way that a reset does not repair.',
  },
  cloud_fork_unavailable: {
    status: 409,
    cause:
      'The Run has no checkpoint to fork from. Only the newest sealed Runs of a Session have one, two unless the operator keeps more: leave `runId` out to fork at the newest.',
  },
  cloud_interaction_conflict: { status: 409, cause: 'The Interaction is closed, or another answer came first.' },
  cloud_turn_limit_reached: { status: 409, cause: 'The Session has reached its limit of Turns.' },
  cloud_repository_required: { status: 409, cause: 'The Session has no repository.' },
  cloud_artifact_not_viewable: {
    status: 409,
    cause: 'The Artifact is neither HTML nor PDF, so it needs no site of its own.',
  },
  cloud_workspace_expired: { status: 409, cause: 'The workspace is not attached; call `restoreWorkspace` first.' },
  workspace_file_unreadable: {
    status: 409,
    cause: 'The path is a directory, a pipe, a socket or a device, or a link that leads out of the workspace.',
  },
  cloud_terminal_limit_reached: {
    status: 409,
    cause: 'The workspace has eight terminals, and somebody looks at each; end one first.',
  },
  cloud_review_refused: {
    status: 409,
    cause: 'The changes cannot be reviewed: they are too large, or git cannot store them; `message` names the cause.',
  },
  cloud_publication_conflict: { status: 409, cause: 'A Publication with this id was created with a different body.' },
  local_review_conflict: { status: 409, cause: 'A review with this id was written with a different body.' },
  cloud_verification_conflict: { status: 409, cause: 'A verification with this id was created with a different body.' },
  cloud_verification_required: {
    status: 409,
    cause:
      "No verification of the revision by the environment's newest revision has passed, or a later one has failed; create one first.",
  },
  cloud_checks_required: {
    status: 409,
    cause: 'The Session is bound to no environment, or its newest revision has no checks.',
  },
  cloud_publication_in_progress: { status: 409, cause: 'A Publication of the Session has not finished.' },
  cloud_publication_not_mergeable: { status: 409, cause: 'The Publication has no pull request, or has not succeeded.' },
  cloud_follow_up_ended: {
    status: 409,
    cause: 'The pull request is merged or closed, so there is nothing to follow any more.',
  },
  cloud_publication_merge_conflict: { status: 409, cause: 'A Merge with this id was created with a different body.' },
  runtime_release_conflict: { status: 409, cause: 'The release stands with another engine; a release cannot change.' },
  environment_conflict: {
    status: 409,
    cause: 'The environment has changed, is archived or is the default, or its name is taken; `message` says which.',
  },
  quota_exceeded: {
    status: 409,
    cause:
      'The organization has 200 live environments, 1 GiB of archives, or five trials or ten verifications under way, or the Session four verifications.',
  },
  trigger_limit_reached: { status: 409, cause: 'The installation has 100 triggers; delete one first.' },
  trigger_disabled: { status: 409, cause: 'The trigger is not enabled, so it takes no deliveries.' },
  app_slug_taken: { status: 409, cause: 'Another app has, or had, this slug.' },
  api_key_limit_reached: { status: 409, cause: 'The integration has two active keys of this kind.' },
  cloud_compute_outdated: {
    status: 409,
    cause:
      "The organization runs on hosts of its own alone, and they are of another release: install the service's there.",
  },
  host_not_away: {
    status: 409,
    cause:
      'The host is connected, or was heard of within the last minute: stop it for good, and try again a minute later.',
  },
  host_in_use: { status: 409, cause: 'The host holds sandboxes; drain it first.' },
  endpoint_limit_reached: { status: 409, cause: 'The installation has five webhook endpoints; delete one first.' },
  app_key_limit_reached: { status: 409, cause: 'The app has ten active keys; revoke one first.' },
  member_reset_refused: {
    status: 409,
    cause:
      'The person is the caller, is disabled, or has an account whose email is proven; `message` says which. An operator can reset anybody.',
  },
  last_administrator: {
    status: 409,
    cause: 'The organization would be left without an administrator; make another one first.',
  },
  request_entity_too_large: { status: 413, cause: 'The body is larger than the operation accepts.' },
  audio_too_large: { status: 413, cause: 'The recording is larger than 20 MiB.' },
  uri_too_long: { status: 414, cause: 'The request target is too long.' },
  range_not_satisfiable: {
    status: 416,
    cause: 'The range lies outside the content; `Content-Range` contains its size.',
  },
  unsupported_audio_format: { status: 415, cause: 'The recording is not FLAC, MP3, MP4/M4A, Ogg, WAV or WebM.' },
  invalid_audio: { status: 422, cause: 'The recording cannot be decoded, or its length differs from `durationMs`.' },
  empty_transcript: { status: 422, cause: 'The recording contains no speech.' },
  unsupported_media_type: { status: 415, cause: 'The media type of the body is not accepted.' },
  cloud_rate_limit_exceeded: { status: 429, cause: 'The caller has exceeded its request rate.', retryAfter: true },
  cloud_auth_rate_limit_exceeded: {
    status: 429,
    cause: 'The network address has sent too many requests without a valid credential.',
    retryAfter: true,
  },
  trigger_backlog_full: {
    status: 429,
    cause: 'The installation has 1,000 deliveries that wait for their Sessions.',
    retryAfterSeconds: 30,
  },
  insufficient_quota: {
    status: 429,
    cause: 'The spending limit of the key or its organization is reached.',
    retryAfter: true,
  },
  upstream_rate_limited: { status: 429, cause: 'The model provider is limiting the request rate.', retryAfter: true },
  precondition_required: {
    status: 428,
    cause: 'The write needs `If-Match` with the newest revision of the environment in quotes.',
  },
  request_header_fields_too_large: { status: 431, cause: 'The request headers are too large.' },
  internal_error: { status: 500, cause: 'An unexpected fault; the request may have taken effect.' },
  upstream_credential_refused: { status: 502, cause: "The model provider refused the gateway's credential." },
  upstream_failed: { status: 502, cause: 'The model provider failed.' },
  upstream_invalid_response: { status: 502, cause: 'The response of the model provider is not valid.' },
  upstream_unreachable: { status: 502, cause: 'The model provider cannot be reached.' },
  upstream_cut: { status: 502, cause: 'The model provider closed the connection in the middle of its response.' },
  upstream_timeout: { status: 504, cause: 'The model provider did not answer in time.' },
  upstream_overloaded: { status: 503, cause: 'The model provider is overloaded.', retryAfter: true },
  identity_service_unavailable: {
    status: 503,
    cause: 'The service could not verify the credential.',
    retryAfterSeconds: 2,
  },
  service_unavailable: {
    status: 503,
    cause: 'The service is restarting, or its database does not answer.',
    retryAfterSeconds: 2,
  },
  transcription_not_configured: {
    status: 503,
    cause: 'No transcription engine is configured, or one of its programs is missing; `message` says which.',
  },
  transcription_unavailable: {
    status: 503,
    cause: 'The transcription engine is busy or has failed.',
    retryAfterSeconds: 2,
  },
  cloud_rate_limit_unavailable: { status: 503, cause: 'The rate limiter failed.', retryAfterSeconds: 1 },
  cloud_agent_catalog_unavailable: {
    status: 503,
    cause: 'No worker has reported which runtimes it can run.',
    retryAfterSeconds: 2,
  },
  cloud_extension_catalog_unavailable: {
    status: 503,
    cause: 'The catalog of extensions cannot be read.',
    retryAfterSeconds: 2,
  },
  cloud_workspace_starting: { status: 503, cause: 'The workspace is still starting.', retryAfterSeconds: 2 },
  cloud_workspace_unavailable: { status: 503, cause: 'The service could not start a workspace.', retryAfterSeconds: 2 },
  cloud_preview_unavailable: {
    status: 503,
    cause:
      'The sandbox is on a machine that this process does not reach or that is being drained, or there is no domain for previews.',
  },
  cloud_terminal_unavailable: {
    status: 503,
    cause: 'The workspace lies on a machine that this process does not reach.',
    retryAfterSeconds: 2,
  },
  event_stream_unavailable: {
    status: 503,
    cause: 'This process serves its maximum number of streams.',
    retryAfterSeconds: 2,
  },
} as const satisfies Record<string, ErrorKind>

/** The status, cause and delay of one code. */
export interface ErrorKind {
  readonly status: number
  /** Prose for the documentation. */
  readonly cause: string
  /** The value of `Retry-After`, if it is constant. */
  readonly retryAfterSeconds?: number
  /** True if each error carries its own value of `Retry-After`. */
  readonly retryAfter?: boolean
}

export type ErrorCode = keyof typeof errors

/** One invalid field. */
export const Issue = Type.Object(
  {
    path: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description: 'Path of the field, outermost member first; an integer is an array index.',
    }),
    message: Type.String({ description: 'Prose for people; not part of the contract.' }),
  },
  { title: 'Issue', description: 'One invalid field of a request.', ...open },
)

/** The body of every error response. */
export const ErrorBody = Type.Object(
  {
    error: openString(Object.keys(errors), 'Machine-readable code. The set is open: ignore codes you do not know.'),
    requiredScope: Type.Optional(
      openString([...capabilities, ...permissions], 'The missing capability; with `insufficient_scope`.'),
    ),
    retryAfterSeconds: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Seconds to wait; with `cloud_rate_limit_exceeded`.' }),
    ),
    issues: Type.Optional(
      Type.Array(Issue, { description: 'The invalid fields; with `invalid_request` and `invalid_input`.' }),
    ),
    parameter: Type.Optional(
      Type.String({ description: 'The invalid path parameter; with `invalid_path_parameter`.' }),
    ),
    mediaType: Type.Optional(
      Type.String({ description: 'The media type that was sent, if any; with `unsupported_media_type`.' }),
    ),
    message: Type.Optional(
      Type.String({
        description:
          'With `transcription_not_configured`, what an operator must fix. With `cloud_review_refused`, the path that git cannot store, or the limit that the changes exceed. With `environment_conflict`, what stands against the write.',
      }),
    ),
    allow: Type.Optional(
      Type.Array(Type.String(), { description: 'The supported methods; with `method_not_allowed`.' }),
    ),
    outcome: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        ...OpenObject,
        description: 'The decision that came first, if there is one; with `cloud_interaction_conflict`.',
      }),
    ),
  },
  { title: 'Error', description: 'The body of an error response.', ...open },
)

export type Issue = Static<typeof Issue>
export type ErrorBody = Static<typeof ErrorBody>
