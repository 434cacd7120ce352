import { BerthConnectionError, BerthError } from '@berth/client'

/** A text for an error: the problem, and a way out. */
export interface Problem {
  readonly title: string
  readonly advice: string
  /** The service's code, for people who ask for help. */
  readonly code: string | null
  /** Present if a connection to a Git host is missing: one's own account, or that of the organization. */
  readonly missesGit?: 'account' | 'connection'
}

/** Refusals for want of a connection to a Git host. */
const gitCodes: Readonly<Record<string, 'account' | 'connection'>> = {
  cloud_github_connection_required: 'account',
  cloud_repository_grant_required: 'connection',
}

/** Words by code. Without advice, the service's own reason says more than this page knows. */
const byCode: Readonly<Record<string, readonly [title: string, advice?: string]>> = {
  sign_in_required: ['You are signed out', 'Sign in again; what you typed stays in this tab.'],
  recent_sign_in_required: ['Confirm that it is you', 'This needs a sign-in of the last ten minutes.'],
  cross_site_request_refused: ['The request was refused', 'Reload the page and try again.'],
  cloud_session_not_found: ['No such Session', 'It is in another organization, or the link is wrong.'],
  cloud_next_turn_conflict: ['Another message waits', 'Take it back first, or wait until it is sent.'],
  cloud_run_in_progress: ['The agent is working', 'Wait until it has finished, or stop it first.'],
  cloud_fork_unavailable: ['Nothing to fork', 'No Run of this Session is stored.'],
  cloud_interaction_conflict: ['Somebody was quicker', 'The request is already decided.'],
  cloud_steering_unsupported: ['The agent takes no messages while it works', 'Send it once the agent has finished.'],
  cloud_reset_unavailable: [
    'A reset does not help here',
    'The Session continues without one, or cannot continue at all.',
  ],
  cloud_verification_required: [
    'The changes are not verified',
    'Have the checks of the environment run on them first.',
  ],
  cloud_checks_required: ['There are no checks', 'Add some to the environment of the Session.'],
  cloud_review_refused: ['The changes cannot be read'],
  cloud_publication_in_progress: ['The changes are being delivered', 'Wait until that has ended.'],
  cloud_follow_up_ended: ['There is nothing to follow any more', 'The pull request is merged or closed.'],
  cloud_publication_not_mergeable: ['There is nothing to merge', 'It has no pull request, or was not delivered.'],
  cloud_turn_limit_reached: ['This Session is full', 'It has as many Turns as a Session may have. Start a new one.'],
  cloud_workspace_expired: ['The sandbox is gone', 'Start it, then try again.'],
  cloud_terminal_limit_reached: ['There are eight terminals', 'End one of them in its window, then try again.'],
  cloud_terminal_unavailable: ['The sandbox is out of reach', 'It lies on a machine that this service does not reach.'],
  cloud_workspace_starting: ['The sandbox is starting', 'Try again in a moment.'],
  cloud_resume_unavailable: ['This Session cannot continue', 'Start a new Session to go on.'],
  cloud_session_conflict: ['The Session exists with other content', 'Open it from the list.'],
  cloud_session_finalizing: ['The last Run is being saved', 'Try again in a moment.'],
  workspace_file_not_found: ['No such file', 'It was moved or deleted, or is not in the workspace.'],
  workspace_file_unreadable: ['This is no file', 'It is a pipe, a socket, a device, or a link that leads elsewhere.'],
  cloud_preview_unavailable: [
    'Previews are not available',
    'The sandbox is on another machine or one that is being drained, or no domain for previews is set.',
  ],
  cloud_artifact_not_viewable: ['This file needs no sandbox', 'It is shown here, or downloaded.'],
  cloud_github_connection_required: [
    'The Git host asks for an account of your own',
    'Connect it, then try again. If it is connected, an administrator looks after the connection of the organization.',
  ],
  cloud_repository_grant_required: [
    'The repository is not within reach',
    'An administrator of your organization connects its account for everybody.',
  ],
  git_connection_refused: [
    'Your account was not connected',
    'It was begun in another browser or more than ten minutes ago, or it is finished already. Begin again.',
  ],
  git_host_not_found: ['No such Git host', 'This service no longer lets people connect accounts there.'],
  host_in_use: ['The machine holds sandboxes', 'Drain it, and remove it once it has none.'],
  host_not_away: ['The machine may still be there', 'Stop it for good, and try again a minute later.'],
  host_not_found: ['No such machine', 'Somebody has removed it meanwhile.'],
  connection_not_found: ['No such connection', 'Somebody has ended it meanwhile.'],
  environment_not_found: ['No such environment', 'It is in another organization, or the link is wrong.'],
  environment_conflict: ['The environment was not changed'],
  quota_exceeded: [
    'There is no more room',
    'An organization has at most 200 environments, 1 GiB of archives, and at once five trials and ten verifications, a Session four.',
  ],
  environment_invalid: ['The environment is not valid', 'Fix the marked fields and save again.'],
  last_administrator: ['This is the last administrator', 'Make somebody else one first.'],
  member_reset_refused: ['The password was not reset'],
  trigger_limit_reached: ['The installation has 100 triggers', 'Delete one of them first.'],
  trigger_disabled: ['The trigger is off', 'Turn it on first.'],
  membership_not_found: ['No such member', 'Somebody has removed them meanwhile.'],
  integration_not_found: ['No such integration', 'It is deleted, in another organization, or the link is wrong.'],
  installation_not_found: ['No such installation', 'It is in another organization, or the link is wrong.'],
  api_key_limit_reached: ['Two keys of this kind are active', 'Revoke one of them first.'],
  app_not_found: ['No such app', 'It is deleted, in another organization, or the link is wrong.'],
  app_slug_taken: ['The slug is taken', 'Slugs are given once and for all. Choose another.'],
  app_key_limit_reached: ['The app has ten active keys', 'Revoke one of them first.'],
  invalid_url: [
    'This address cannot be used',
    'It needs https, a host whose name resolves to a public address, and port 443 or one that the operator allows.',
  ],
  endpoint_limit_reached: ['The installation has five endpoints', 'Delete one of them first.'],
  webhook_endpoint_not_found: ['No such endpoint', 'It is deleted, or the link is wrong.'],
  webhook_delivery_not_found: ['No such delivery', 'It is forgotten by now.'],
  cloud_rate_limit_exceeded: ['Too many requests', 'Wait a moment, then try again.'],
}

/** Returns the words for a code of the service. */
export function textFor(code: string): string {
  const [title, advice = ''] = byCode[code] ?? ['The request was refused', 'Try it again.']
  return advice === '' ? `${title}.` : `${title}. ${advice}`
}

/** Returns the first field that the service refuses, with its reason; null if it refused no field. */
export function issueOf(error: unknown): { readonly path: readonly unknown[]; readonly message: string } | null {
  const issues = error instanceof BerthError ? error.fields['issues'] : undefined
  return Array.isArray(issues) ? (issues[0] ?? null) : null
}

/** Returns a reason of the service as a sentence. */
function sentence(reason: string): string {
  const text = reason.trim()
  return text.slice(0, 1).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.')
}

/** Returns an error in words. An unknown code is detail by the service's own reason, or else by its status. */
export function problemOf(error: unknown): Problem {
  if (error instanceof BerthError) {
    const known = byCode[error.code ?? '']
    const missesGit = gitCodes[error.code ?? '']
    const issue = issueOf(error)
    const { message } = error.fields
    const detail = typeof message === 'string' && message.trim() !== '' ? sentence(message) : null
    const reason = issue === null ? detail : `${issue.path.at(-1) ?? 'It'} ${issue.message}.`
    const [title, advice] = known ?? [byStatus(error.status)[0]]
    return {
      title,
      advice: advice ?? reason ?? byStatus(error.status)[1],
      code: error.code,
      ...(missesGit !== undefined && { missesGit }),
    }
  }
  if (error instanceof BerthConnectionError || error instanceof TypeError) {
    return {
      title: 'Berth cannot be reached',
      advice: 'Check your connection, then try again.',
      code: null,
    }
  }
  return {
    title: 'This page has a fault',
    advice: 'Reload it. If it happens again, tell your administrator.',
    code: null,
  }
}

/** Statuses of refusals whose reason may pass: a request that took too long, a conflict with the state of now, a limit. */
const passing: readonly number[] = [408, 409, 429]

/** Returns whether the same request may succeed later: after a fault, a conflict or a limit, but after no other refusal. */
export const isPassing = (error: unknown): boolean =>
  !(error instanceof BerthError) || error.status >= 500 || passing.includes(error.status)

function byStatus(status: number): readonly [string, string] {
  if (status === 401) return ['You are signed out', 'Sign in again.']
  if (status === 403) return ['You may not do this', 'Ask an administrator of your organization.']
  if (status === 404) return ['Not found', 'It is gone, in another organization, or the link is wrong.']
  // The code stands beside it. Whether a second try helps depends on the reason, which nobody knows here.
  if (status === 409) return ['This cannot be done now', 'It does not fit how things stand.']
  if (status === 429) return ['Too many requests', 'Wait a moment, then try again.']
  if (status >= 500) return ['Berth is in trouble', 'Try again in a moment.']
  return ['The request was refused', 'Check what you entered.']
}
