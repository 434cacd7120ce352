import { BerthConnectionError, BerthError } from '@berth/client'
import { type ExitCode, exitCode } from './exit-code.ts'
import { printableLine } from './terminal-text.ts'

/** The command line or its surroundings are wrong; nothing has been asked of the service. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** One line for a person, and what the process answers. `url` is the service that was asked, once it is known. */
export function explain(failure: unknown, url: string | null): { readonly line: string; readonly code: ExitCode } {
  if (failure instanceof UsageError) return { line: printableLine(failure.message), code: exitCode.usage }
  const line = failure instanceof BerthError ? refusal(failure) : reason(failure, url)
  return { line: printableLine(line), code: exitCode.failed }
}

function reason(failure: unknown, url: string | null): string {
  if (failure instanceof BerthConnectionError) {
    if (isRefused(failure.cause)) return `nothing answers at ${url}; start it with script/server`
    const cause = deepestMessage(failure.cause)
    return `cannot talk to ${url}: ${failure.message}${cause === '' ? '' : ` (${cause})`}`
  }
  return failure instanceof Error ? failure.message : String(failure)
}

const byCode: Readonly<Record<string, (refusal: BerthError) => string>> = {
  bearer_credential_required: () => 'the service wants a key: give --key or set BERTH_API_KEY',
  invalid_or_expired_credential: () => 'the service refuses this key: it is revoked, expired or of another deployment',
  insufficient_scope: refusal => `this key lacks ${String(refusal.fields.requiredScope ?? 'a capability')}`,
  cloud_access_denied: () => 'this key has no access to the product',
  cloud_session_not_found: () => 'no such session or run, or this key does not see it',
  cloud_run_in_progress: () =>
    'the session has a run under way: follow it with `berth events`, or end it with `berth cancel`',
  cloud_resume_unavailable: () =>
    'the session cannot be continued: its workspace is gone and no checkpoint is left; `berth reset` begins it afresh',
  cloud_reset_unavailable: () =>
    'the session has work to go on from, or lost it in a way that may be mended; only one without a checkpoint is reset',
  cloud_turn_limit_reached: () => 'the session has reached its limit of turns; start a new one',
  cloud_repository_required: () => 'the session is on no repository; start one with `berth run --repository`',
  cloud_repository_grant_required: () =>
    'the repository is not granted any more; operators grant it with `berth admin grant add`',
  cloud_github_connection_required: () => "the repository's host does not take this deployment's credential",
  cloud_repository_unavailable: () => 'the host does not show the repository to this deployment',
  cloud_repository_permission_denied: () => 'the host does not let this deployment do that',
  cloud_review_refused: refusal =>
    typeof refusal.fields.message === 'string'
      ? `no review of the changes: ${refusal.fields.message}`
      : 'the changes hold something that git takes from nobody, or are too much for a review',
  cloud_repository_branch_not_found: () => 'the repository has no such branch; name one with --base',
  cloud_workspace_expired: () => "the session's sandbox is gone; `berth run --session` brings it back",
  cloud_publication_not_mergeable: () => 'that publication has no pull request to merge',
  request_entity_too_large: () => 'message and files are more than one request holds (1 MB)',
  invalid_path_parameter: refusal => `not a valid ${String(refusal.fields.parameter ?? 'id')}`,
}

function refusal(error: BerthError): string {
  if (error.code === null) return `something in front of the service answers ${error.status}`
  const known = byCode[error.code]
  if (known !== undefined) return `${known(error)} (${error.code})`
  const issues = Array.isArray(error.fields.issues) ? error.fields.issues.map(issueText).join('; ') : ''
  const later = error.retryAfterSeconds === null ? '' : `; try again in ${error.retryAfterSeconds} s`
  return `the service refuses: ${error.code}${issues === '' ? '' : `: ${issues}`}${later}`
}

function issueText(issue: unknown): string {
  if (typeof issue !== 'object' || issue === null) return String(issue)
  const path = 'path' in issue && Array.isArray(issue.path) ? issue.path.join('.') : ''
  const message = 'message' in issue ? String(issue.message) : ''
  return path === '' ? message : `${path}: ${message}`
}

/** Whether the port is closed. Node tries every address of a name and then reports all of the failures together. */
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
