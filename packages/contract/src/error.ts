import { type Static, Type } from 'typebox'
import { capabilities, permissions } from './capability.ts'
import { OpenObject, open, openString } from './scalar.ts'

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

/** Returns the codes of one status, made of their causes. */
const ofStatus = <const Code extends string>(
  status: number,
  causes: Readonly<Record<Code, string>>,
  delay: Pick<ErrorKind, 'retryAfterSeconds' | 'retryAfter'> = {},
) =>
  Object.fromEntries(
    Object.entries<string>(causes).map(([code, cause]) => [code, { status, cause, ...delay }]),
  ) as Readonly<Record<Code, ErrorKind>>

/** Every error code of the API, by its status, with its cause. Clients treat the set as open. */
export const errors = {
  ...ofStatus(400, {
    invalid_request: 'A body, query or header field is invalid; `issues` names each one.',
    invalid_path_parameter: 'A path segment is not a valid id; `parameter` names it.',
    invalid_input: 'A value is well formed but not acceptable, or a parameter of a repository list is invalid.',
    malformed_request_body: 'The body is not valid JSON.',
    malformed_request: 'The request is not well-formed HTTP.',
    invalid_organization:
      'The organization header is malformed, appears more than once, or is missing in a request of the console.',
    organization_header_not_allowed: 'The organization header was sent together with a bearer credential.',
    invalid_url: 'The URL is not an HTTPS URL of a public host, or its host has no address that is public.',
    invalid_event_families: 'No family is named, one is named twice, or one is unknown.',
    environment_invalid:
      'The document, secret, extension or archive of an environment is not valid; `issues` names each fault.',
    cloud_repository_branch_not_found:
      'The repository has commits, and no branch `source.baseBranch`, or no default branch; `message` may say more.',
    git_connection_refused:
      'The browser has begun no such connection within ten minutes, it was finished already, or the host refused the code.',
    upstream_request_refused: 'The model provider refused the request.',
    audio_file_required: 'The form has no `file` part.',
    invalid_audio_duration: '`durationMs` is missing, fractional or out of range.',
    invalid_audio_upload: 'The form is malformed, or contains more than `file` and `durationMs`.',
  }),
  ...ofStatus(401, {
    bearer_credential_required: 'No bearer credential was sent.',
    invalid_assertion: 'The assertion is not valid: check its key, signature, audience and dates.',
    invalid_or_expired_credential: 'The credential is unknown, expired, revoked or meant for another API.',
    invalid_signature:
      'There is no such hook, or no secret of it has signed this body, or it was signed more than five minutes ago or ahead.',
    sign_in_required: 'Nobody is signed in at this browser, or no longer.',
  }),
  ...ofStatus(402, {
    cost_budget_exceeded: 'The Run has spent its cost budget.',
    budget_reached:
      'A budget of the Session, or of whom it is for, is reached. The Run waits for people; repeat the request later.',
    cost_unknown: 'A budget counts the request, and the price of the model is not configured.',
  }),
  ...ofStatus(403, {
    cloud_access_denied: 'The credential lacks `svc.cloud.access`.',
    insufficient_scope: 'The credential lacks the capability in `requiredScope`.',
    installation_principal_required: 'Only an installation may call this operation.',
    cross_site_request_refused: 'The request came from a page of another site, or to the console from none of its own.',
    recent_sign_in_required: 'The person proved who they are more than ten minutes ago; call `stepUpInConsole` first.',
    environment_forbidden: 'The caller may not read, manage or select environments.',
    cloud_repository_grant_required: 'No active grant covers the repository.',
    cloud_github_connection_required: 'The connection to the Git host is missing or expired.',
    cloud_repository_unavailable: 'The repository cannot be reached through the grant.',
    cloud_repository_permission_denied: 'The Git host does not permit the operation.',
    cloud_compute_not_configured:
      'The organization runs on hosts of its own alone, and none of them has ever connected.',
  }),
  ...ofStatus(404, {
    unknown_endpoint: 'The API has no such path, or the service was built without it.',
    cloud_follow_up_not_found: 'Nothing follows the pull request of the Publication; `putFollowUp` begins it.',
    cloud_session_not_found: 'The Session, or the resource within it, does not exist or is not visible to the caller.',
    workspace_file_not_found: 'The workspace has nothing at this path.',
    cloud_push_subscription_not_found: 'The membership has no such browser that is pushed to.',
    cloud_terminal_not_found: 'The person has no such terminal in the workspace, or no longer.',
    cloud_repository_grant_not_found: 'The installation has no such grant.',
    trigger_not_found: 'The installation has no such trigger.',
    environment_not_found: 'The organization has no such environment.',
    environment_trial_not_found: 'The environment has no such trial, or it is not visible to the caller.',
    app_not_found: 'The organization has no such app.',
    app_key_not_found: 'The app has no such key.',
    installation_not_found: 'There is no such live installation of the app, or in the organization.',
    webhook_endpoint_not_found: 'The installation has no such webhook endpoint.',
    webhook_delivery_not_found: 'The endpoint has no such delivery, or it was forgotten.',
    setup_authority_not_found: 'The installation has no such consent, or whoever gave it has left the organization.',
    organization_not_found: 'There is no such organization, or it is not the one of the credential.',
    sign_in_not_found: 'The person has no such sign-in.',
    membership_not_found: 'The organization has no such member.',
    connection_not_found: 'The organization itself, or the person, has no such connection.',
    git_host_not_found: 'This service has no such Git host, or people cannot connect accounts of their own there.',
    installation_intent_not_found: 'The app has no such intent.',
    integration_not_found: 'The organization has no such integration.',
    host_not_found: 'The organization has no such host of its own.',
    api_key_not_found: 'The integration has no such active key.',
    model_not_found: 'No provider serves this model to the caller.',
  }),
  ...ofStatus(405, {
    method_not_allowed: 'The path does not support the method; `allow` lists the supported ones.',
  }),
  ...ofStatus(406, {
    representation_not_acceptable: 'No available media type matches `Accept`.',
  }),
  ...ofStatus(408, {
    request_timeout: 'The request did not arrive in time.',
  }),
  ...ofStatus(409, {
    cloud_session_conflict: 'A Session with this id was created with a different body.',
    cloud_session_settled: 'The Session has already settled on another value, which can no longer change.',
    cloud_turn_conflict: 'A Turn with this id was admitted with a different body.',
    cloud_next_turn_conflict:
      "Another message waits in the Session than the one that this was to replace, or it is another person's.",
    cloud_steering_unsupported:
      'The agent of the Session cannot be given a message while it works. Send it without `mode` once the Run has ended, or cancel the Run first.',
    cloud_resume_unavailable: 'The Session cannot continue; `continuation` says why.',
    cloud_reset_unavailable:
      'The Session still has work to continue from, or lost it in a way that a reset does not repair.',
    cloud_fork_unavailable:
      'The Run has no checkpoint to fork from. Only the newest sealed Runs of a Session have one, two unless the operator keeps more: leave `runId` out to fork at the newest.',
    cloud_interaction_conflict: 'The Interaction is closed, or another answer came first.',
    cloud_turn_limit_reached: 'The Session has reached its limit of Turns.',
    cloud_repository_required: 'The Session has no repository.',
    cloud_artifact_not_viewable: 'The Artifact is neither HTML nor PDF, so it needs no site of its own.',
    cloud_workspace_expired: 'The workspace is not attached; call `restoreWorkspace` first.',
    workspace_file_unreadable:
      'The path is a directory, a pipe, a socket or a device, or a link that leads out of the workspace.',
    cloud_terminal_limit_reached: 'The workspace has eight terminals, and somebody looks at each; end one first.',
    cloud_review_refused:
      'The changes cannot be reviewed: they are too large, or git cannot store them; `message` names the cause.',
    cloud_publication_conflict: 'A Publication with this id was created with a different body.',
    local_review_conflict: 'A review with this id was written with a different body.',
    cloud_verification_conflict: 'A verification with this id was created with a different body.',
    cloud_verification_required:
      "No verification of the revision by the environment's newest revision has passed, or a later one has failed; create one first.",
    cloud_checks_required: 'The Session is bound to no environment, or its newest revision has no checks.',
    cloud_publication_in_progress: 'A Publication of the Session has not finished.',
    cloud_publication_not_mergeable: 'The Publication has no pull request, or has not succeeded.',
    cloud_follow_up_ended: 'The pull request is merged or closed, so there is nothing to follow any more.',
    cloud_publication_merge_conflict: 'A Merge with this id was created with a different body.',
    runtime_release_conflict: 'The release stands with another engine; a release cannot change.',
    environment_conflict:
      'The environment has changed, is archived or is the default, or its name is taken; `message` says which.',
    quota_exceeded:
      'The organization has 200 live environments, 1 GiB of archives, or five trials or ten verifications under way, or the Session four verifications.',
    trigger_limit_reached: 'The installation has 100 triggers; delete one first.',
    trigger_disabled: 'The trigger is not enabled, so it takes no deliveries.',
    app_slug_taken: 'Another app has, or had, this slug.',
    api_key_limit_reached: 'The integration has two active keys of this kind.',
    cloud_compute_outdated:
      "The organization runs on hosts of its own alone, and they are of another release: install the service's there.",
    host_not_away:
      'The host is connected, or was heard of within the last minute: stop it for good, and try again a minute later.',
    host_in_use: 'The host holds sandboxes; drain it first.',
    endpoint_limit_reached: 'The installation has five webhook endpoints; delete one first.',
    app_key_limit_reached: 'The app has ten active keys; revoke one first.',
    member_reset_refused:
      'The person is the caller, is disabled, or has an account whose email is proven; `message` says which. An operator can reset anybody.',
    last_administrator: 'The organization would be left without an administrator; make another one first.',
  }),
  ...ofStatus(
    409,
    {
      cloud_run_in_progress: 'The Session has an active Run.',
      cloud_session_finalizing: 'The service is still storing the checkpoint of the last Run.',
    },
    { retryAfterSeconds: 2 },
  ),
  ...ofStatus(413, {
    request_entity_too_large: 'The body is larger than the operation accepts.',
    audio_too_large: 'The recording is larger than 20 MiB.',
  }),
  ...ofStatus(414, {
    uri_too_long: 'The request target is too long.',
  }),
  ...ofStatus(415, {
    unsupported_audio_format: 'The recording is not FLAC, MP3, MP4/M4A, Ogg, WAV or WebM.',
    unsupported_media_type: 'The media type of the body is not accepted.',
  }),
  ...ofStatus(416, {
    range_not_satisfiable: 'The range lies outside the content; `Content-Range` contains its size.',
  }),
  ...ofStatus(422, {
    invalid_audio: 'The recording cannot be decoded, or its length differs from `durationMs`.',
    empty_transcript: 'The recording contains no speech.',
  }),
  ...ofStatus(428, {
    precondition_required: 'The write needs `If-Match` with the newest revision of the environment in quotes.',
  }),
  ...ofStatus(
    429,
    {
      cloud_rate_limit_exceeded: 'The caller has exceeded its request rate.',
      cloud_auth_rate_limit_exceeded: 'The network address has sent too many requests without a valid credential.',
      insufficient_quota: 'The spending limit of the key or its organization is reached.',
      upstream_rate_limited: 'The model provider is limiting the request rate.',
    },
    { retryAfter: true },
  ),
  ...ofStatus(
    429,
    {
      trigger_backlog_full: 'The installation has 1,000 deliveries that wait for their Sessions.',
    },
    { retryAfterSeconds: 30 },
  ),
  ...ofStatus(431, {
    request_header_fields_too_large: 'The request headers are too large.',
  }),
  ...ofStatus(500, {
    internal_error: 'An unexpected fault; the request may have taken effect.',
  }),
  ...ofStatus(502, {
    upstream_credential_refused: "The model provider refused the gateway's credential.",
    upstream_failed: 'The model provider failed.',
    upstream_invalid_response: 'The response of the model provider is not valid.',
    upstream_unreachable: 'The model provider cannot be reached.',
    upstream_cut: 'The model provider closed the connection in the middle of its response.',
  }),
  ...ofStatus(
    503,
    {
      upstream_overloaded: 'The model provider is overloaded.',
    },
    { retryAfter: true },
  ),
  ...ofStatus(
    503,
    {
      identity_service_unavailable: 'The service could not verify the credential.',
      service_unavailable: 'The service is restarting, or its database does not answer.',
      transcription_unavailable: 'The transcription engine is busy or has failed.',
      cloud_agent_catalog_unavailable: 'No worker has reported which runtimes it can run.',
      cloud_extension_catalog_unavailable: 'The catalog of extensions cannot be read.',
      cloud_workspace_starting: 'The workspace is still starting.',
      cloud_workspace_unavailable: 'The service could not start a workspace.',
      cloud_terminal_unavailable: 'The workspace lies on a machine that this process does not reach.',
      event_stream_unavailable: 'This process serves its maximum number of streams.',
    },
    { retryAfterSeconds: 2 },
  ),
  ...ofStatus(503, {
    transcription_not_configured:
      'No transcription engine is configured, or one of its programs is missing; `message` says which.',
    cloud_preview_unavailable:
      'The sandbox is on a machine that this process does not reach or that is being drained, or there is no domain for previews.',
  }),
  ...ofStatus(
    503,
    {
      cloud_rate_limit_unavailable: 'The rate limiter failed.',
    },
    { retryAfterSeconds: 1 },
  ),
  ...ofStatus(504, {
    upstream_timeout: 'The model provider did not answer in time.',
  }),
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
