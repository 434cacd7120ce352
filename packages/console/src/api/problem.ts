import { BerthConnectionError, BerthError } from '@berth/client'

/** An error in words: what happened, and what to do. */
export interface Problem {
  readonly title: string
  readonly advice: string
  /** The service's code, for people who ask for help. */
  readonly code: string | null
  /** True if the same request may succeed later. */
  readonly passing: boolean
}

const byCode: Readonly<Record<string, readonly [title: string, advice: string]>> = {
  sign_in_required: ['You are signed out', 'Sign in again; what you typed stays in this tab.'],
  recent_sign_in_required: ['Confirm that it is you', 'This needs a sign-in of the last ten minutes.'],
  cross_site_request_refused: ['The request was refused', 'Reload the page and try again.'],
  cloud_session_not_found: ['No such Session', 'It is in another organization, or the link is wrong.'],
  cloud_run_in_progress: ['The agent is working', 'Wait until it has finished, or stop it first.'],
  cloud_interaction_conflict: ['Somebody was quicker', 'The request is already decided.'],
  cloud_turn_limit_reached: ['This Session is full', 'It has as many Turns as a Session may have. Start a new one.'],
  cloud_workspace_expired: ['The sandbox is gone', 'Bring it back, then try again.'],
  cloud_workspace_starting: ['The sandbox is starting', 'Try again in a moment.'],
  cloud_resume_unavailable: ['This Session cannot continue', 'Start a new Session to go on.'],
  cloud_session_conflict: ['The Session exists with other content', 'Open it from the list.'],
  cloud_session_finalizing: ['The last Run is being saved', 'Try again in a moment.'],
  cloud_github_connection_required: ['GitHub does not know you yet', 'Connect your GitHub account, then try again.'],
  environment_invalid: ['The environment is not valid', 'Mend the marked fields and save again.'],
  cloud_rate_limit_exceeded: ['Too many requests', 'Wait a moment, then try again.'],
}

/** Returns an error in words. Unknown codes are told by their status. */
export function problemOf(error: unknown): Problem {
  if (error instanceof BerthError) {
    const known = byCode[error.code ?? '']
    const message = typeof error.fields['message'] === 'string' ? error.fields['message'] : null
    const [title, advice] = known ?? byStatus(error.status)
    return {
      title,
      advice: known === undefined && message !== null ? message : advice,
      code: error.code,
      passing: error.status >= 500 || error.status === 429,
    }
  }
  if (error instanceof BerthConnectionError || error instanceof TypeError) {
    return {
      title: 'Berth cannot be reached',
      advice: 'Check your connection, then try again.',
      code: null,
      passing: true,
    }
  }
  return {
    title: 'This page has a fault',
    advice: 'Reload it. If it happens again, tell your administrator.',
    code: null,
    passing: false,
  }
}

function byStatus(status: number): readonly [string, string] {
  if (status === 401) return ['You are signed out', 'Sign in again.']
  if (status === 403) return ['You may not do this', 'Ask an administrator of your organization.']
  if (status === 404) return ['Not found', 'It is gone, in another organization, or the link is wrong.']
  if (status === 409) return ['It has changed meanwhile', 'Reload and try again.']
  if (status === 429) return ['Too many requests', 'Wait a moment, then try again.']
  if (status >= 500) return ['Berth is in trouble', 'Try again in a moment.']
  return ['The request was refused', 'Check what you entered.']
}
