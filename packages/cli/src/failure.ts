import { BerthConnectionError, BerthError } from '@berth/client'
import type { Connection } from './connection.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { printableLine } from './terminal-text.ts'

/** The command line or its environment is wrong; the command has sent no request. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The sign-in of a profile has ended. */
export class SignInRequired extends Error {
  override readonly name = 'SignInRequired'

  constructor(profile: string) {
    super(`the sign-in of profile ${profile} has ended; sign in again: berth login --profile ${profile}`)
  }
}

/** Returns one line for a person, and the exit code. `connection` is the service asked, if it is known. */
export function explain(
  failure: unknown,
  connection: Pick<Connection, 'url' | 'origin'> | null,
): { readonly line: string; readonly code: ExitCode } {
  if (failure instanceof UsageError) return { line: printableLine(failure.message), code: exitCode.usage }
  const ended = endedSignIn(failure, connection)
  if (ended !== null) return { line: printableLine(ended.message), code: exitCode.signInRequired }
  const line = failure instanceof BerthError ? refusal(failure) : reason(failure, connection?.url ?? null)
  return { line: printableLine(line), code: exitCode.failed }
}

/** A token that was just renewed and is refused all the same is of a sign-in that somebody has ended. */
export function endedSignIn(failure: unknown, connection: Pick<Connection, 'origin'> | null): SignInRequired | null {
  if (failure instanceof SignInRequired) return failure
  if (!(failure instanceof BerthError) || failure.code !== 'invalid_or_expired_credential') return null
  return connection?.origin.kind === 'profile' ? new SignInRequired(connection.origin.name) : null
}

function reason(failure: unknown, url: string | null): string {
  if (failure instanceof BerthConnectionError) {
    const address = url !== null && failure.url.startsWith(url) ? url : (URL.parse(failure.url)?.origin ?? url)
    if (isRefused(failure.cause)) return `nothing answers at ${address}; start the service with script/server`
    const cause = deepestMessage(failure.cause)
    return `cannot reach ${address}: ${failure.message}${cause === '' ? '' : ` (${cause})`}`
  }
  return failure instanceof Error ? failure.message : String(failure)
}

const byCode: Readonly<Record<string, (refusal: BerthError) => string>> = {
  bearer_credential_required: () =>
    'the service requires a credential: sign in with `berth login`, or set BERTH_API_KEY',
  invalid_or_expired_credential: () =>
    'the service refuses this key: it is revoked, expired or from another deployment',
  insufficient_scope: ({ fields: { requiredScope = 'that this needs' } }) =>
    String(requiredScope).startsWith('organization.')
      ? `you lack the permission ${String(requiredScope)} in this organization; its administrators can give it to you`
      : `this credential lacks the scope ${String(requiredScope)}`,
  installation_principal_required: () =>
    'only an installation may do this: use the API key of an integration, or a token of an app',
  cloud_access_denied: () => 'this organization has no access to the product',
  cloud_session_not_found: () =>
    'no such session or run, or this credential may not see it: `berth login` signs you in as yourself',
  cloud_run_in_progress: () =>
    'the session has an active run: follow it with `berth attach`, or end it with `berth cancel`',
  cloud_fork_unavailable: () =>
    'this run has no checkpoint to fork from; only the newest sealed runs of a session have one, two unless the operator keeps more: leave --run out to fork at the newest',
  cloud_steering_unsupported: () =>
    'this agent takes no message while it works: send it without --steer once the run has ended, or end the run with `berth cancel`',
  cloud_resume_unavailable: () =>
    'the session cannot continue: its workspace and its checkpoints are lost; `berth reset` lets it start again in a fresh workspace',
  cloud_reset_unavailable: () =>
    'the session still has work, or work that may yet be recovered; only a session that has lost all of it can be reset',
  cloud_turn_limit_reached: () => 'the session has reached its limit of turns; start a new one',
  cloud_repository_required: () => 'the session has no repository; start one with `berth run --repository`',
  cloud_repository_grant_required: () =>
    'the repository is no longer granted; an operator can grant it with `berth admin grant add`',
  cloud_github_connection_required: () => "the repository's host rejected this deployment's credential",
  cloud_repository_unavailable: () => 'this deployment cannot see the repository on the host',
  cloud_repository_permission_denied: () => 'the host does not permit this deployment to do that',
  cloud_review_refused: refusal =>
    typeof refusal.fields.message === 'string'
      ? `the changes cannot be reviewed: ${refusal.fields.message}`
      : 'the changes contain something that git refuses, or are too large for a review',
  cloud_repository_branch_not_found: refusal =>
    String(refusal.fields.message ?? 'the repository has no such branch; name one with --base'),
  cloud_workspace_expired: () =>
    "the session's workspace has lapsed; `berth workspace restore <session>` attaches it again, without a run",
  cloud_preview_unavailable: refusal =>
    String(refusal.fields.message ?? 'the service does not reach the sandbox, or has no domain for previews'),
  installation_not_found: () =>
    'this organization has no app with such an installation; `berth whoami` shows the organization, `berth switch` others',
  webhook_endpoint_not_found: () =>
    'the installation has no such endpoint; `berth webhooks list` shows those that it has',
  webhook_delivery_not_found: () =>
    "the endpoint has no such delivery, or it is forgotten; `berth webhooks replay` sends a session's events again",
  endpoint_limit_reached: () => 'the installation has five endpoints; take one away with `berth webhooks remove`',
  invalid_url: () =>
    'the service takes https URLs of public hosts, on port 443 or one that the operator allows, without user name and fragment',
  cloud_publication_not_mergeable: () => 'that publication has no pull request to merge',
  environment_not_found: () => 'this organization has no such environment or revision; `berth env list` lists them',
  environment_forbidden: () =>
    'this credential may not use environments; an installation needs environments:use or environments:manage',
  environment_conflict: refusal =>
    `the environment was not changed: ${String(refusal.fields.message ?? 'somebody else has changed it')}`,
  request_entity_too_large: () => 'the message and files are too large for one request (at most 1 MiB)',
  invalid_path_parameter: refusal => `not a valid ${String(refusal.fields.parameter ?? 'id')}`,
}

function refusal(error: BerthError): string {
  if (error.code === null) return `a proxy in front of the service answered ${error.status}`
  const known = Object.hasOwn(byCode, error.code) ? byCode[error.code] : undefined
  if (known !== undefined) return `${known(error)} (${error.code})`
  const issues = Array.isArray(error.fields.issues) ? error.fields.issues.map(issueText).join('; ') : ''
  const later = error.retryAfterSeconds === null ? '' : `; try again in ${error.retryAfterSeconds} s`
  return `the service refused the request: ${error.code}${issues === '' ? '' : `: ${issues}`}${later}`
}

/** Returns the fault of a member of a request, after its path. */
export function issueText(issue: unknown): string {
  if (typeof issue !== 'object' || issue === null) return String(issue)
  const path = 'path' in issue && Array.isArray(issue.path) ? issue.path.join('.') : ''
  const message = 'message' in issue ? String(issue.message) : ''
  return path === '' ? message : `${path}: ${message}`
}

/** Returns true if the port is closed. Node tries every address of a name and reports the failures together. */
function isRefused(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  if ('code' in cause && cause.code === 'ECONNREFUSED') return true
  if (cause instanceof AggregateError) return cause.errors.some(isRefused)
  return isRefused(cause.cause)
}

function deepestMessage(cause: unknown): string {
  if (!(cause instanceof Error)) return ''
  return deepestMessage(cause.cause) || cause.message
}
