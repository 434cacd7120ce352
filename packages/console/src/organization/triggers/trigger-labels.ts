import type { Trigger, TriggerDelivery } from '@berth/contract'

/** Who posts to a trigger. `events` means events of GitHub, which the trigger reads itself. */
export const senderLabel = {
  none: 'Nobody',
  events: 'GitHub: comments, labels, reviews, checks',
  svc: 'A system of yours, signed as Berth signs',
  slack: 'Slack',
  linear: 'Linear',
  github: 'GitHub: any event, as it is',
} as const

export type Sender = keyof typeof senderLabel

/** Events of GitHub that fire a trigger. */
export const eventLabel: Readonly<Record<string, readonly [name: string, means: string]>> = {
  comment: ['Comments', 'A new comment on an issue or pull request holds the mention.'],
  label: ['Labels', 'The label is put on an issue or a pull request.'],
  issue_assigned: ['Assignments', 'An issue is assigned to the login.'],
  review: ['Reviews', 'A review of a pull request requests changes, or comments.'],
  check_failed: ['Failed checks', 'A check failed at the tip of a branch.'],
}

/** Returns who posts to a trigger. */
export function senderOf({ hook }: Pick<Trigger, 'hook'>): Sender {
  if (hook === undefined) return 'none'
  return hook.github === undefined ? (hook.scheme as Sender) : 'events'
}

/** Returns the source of a trigger in words. */
export function firedBy(trigger: Pick<Trigger, 'hook' | 'schedule'>): string {
  const { hook, schedule } = trigger
  const on = (hook?.github as { on?: readonly string[] } | undefined)?.on ?? []
  const sender = senderOf(trigger)
  const parts = [
    ...(schedule === undefined ? [] : [`${schedule.cron} (${schedule.timeZone})`]),
    ...(sender === 'events' ? [`GitHub: ${on.map(kind => eventLabel[kind]?.[0] ?? kind).join(', ')}`] : []),
    ...(sender === 'none' || sender === 'events' ? [] : [senderLabel[sender] ?? sender]),
  ]
  return parts.length === 0 ? 'The API alone' : parts.join(' · ')
}

/** How a delivery stands: its name, and the color of its dot. */
export const statusLabel: Readonly<Record<string, readonly [label: string, dot: string]>> = {
  waiting: ['Waits', 'bg-dot-active'],
  admitted: ['Admitted', 'bg-dot-good'],
  refused: ['Refused', 'bg-bad'],
}

const reasons: Readonly<Record<string, string>> = {
  actor_may_not_write: 'Whoever did it may not push to the repository.',
  pull_request_of_fork: 'The pull request comes from a fork.',
  pull_request_followed: 'The follow-up of the pull request takes it.',
  branch_moved: 'The branch had moved on from the commit that failed.',
  authority_revoked: 'The installation is revoked, or may make no Sessions.',
  cloud_repository_grant_required: 'The repository is not granted to the installation.',
  cloud_repository_permission_denied: 'The Git host does not allow it. Look at the permissions of the App.',
  cloud_repository_unavailable: 'It is not there any more, or hidden.',
  cloud_workspace_unavailable: 'The Git host could not be asked.',
  cloud_run_in_progress: 'A Run of the Session is under way.',
  insufficient_scope: 'The installation lacks the scope for it.',
  run_failed: 'The Run did not complete.',
  verification_failed: 'A required check of the verification failed.',
  invalid_request: 'The settings of the trigger are not valid any more.',
}

/** Returns a reason in words; the code itself if it is none of those known here. */
export const reasonLabel = (code: string): string => reasons[code] ?? code

/** Returns why a delivery was refused, still waits, was not published or could not be reported; null if nothing failed. */
export function troubleOf({ status, errorCode, report, publication }: TriggerDelivery): string | null {
  if (errorCode !== undefined && errorCode !== null) {
    return status === 'waiting' ? `${reasonLabel(errorCode)} It is tried again.` : reasonLabel(errorCode)
  }
  if (publication?.state === 'failed' && publication.errorCode !== undefined) {
    return `Nothing was published. ${reasonLabel(publication.errorCode)}`
  }
  const code = report?.commentErrorCode ?? report?.checkErrorCode
  return code === undefined ? null : `The result could not be told. ${reasonLabel(code)}`
}
