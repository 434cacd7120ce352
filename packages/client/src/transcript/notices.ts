import type { Event } from '../generated/types.ts'
import { applyOutcome } from './apply-outcome.ts'
import { memberOf, numberOf, textOf } from './data.ts'
import { formatBytes, formatDuration } from './format.ts'
import type { BlockedHost, NoticeRow } from './rows.ts'
import type { Transcript } from './transcript.ts'

/** The content of a notice, and the places of the transcript that its Event moves. */
interface Notice
  extends Pick<NoticeRow, 'tone' | 'text' | 'detail' | 'link' | 'about' | 'blocked' | 'step' | 'ongoing'> {
  readonly sets?: readonly (keyof Pick<Transcript, 'changedAt' | 'deliveredAt' | 'editedAt'>)[]
}

const attemptCauses: ReadonlyMap<string, string> = new Map(
  Object.entries({
    checks: 'checks failed',
    reviews: 'reviewers asked for changes',
    conflicts: 'it conflicts with its base',
    base: 'its base moved on',
    pushed: 'somebody else pushed',
  }),
)

/** Reasons for which a host stays closed whatever people of the Session decide. */
const closed = /^(policy|never_host|secret_not_for_host)$/

/** Returns what a notice of a refused host says. */
export const blockedNotice = (blocked: BlockedHost): Pick<NoticeRow, 'tone' | 'text' | 'about' | 'blocked'> => ({
  tone: 'warning',
  text: `blocked: ${blocked.host}${blocked.count > 1 ? ` (${blocked.count.toLocaleString('en')} times)` : ''}`,
  about: 'blocked',
  blocked,
})

const pullOf = (event: Event): string => `#${String(memberOf(event.data['pullRequest'], 'number') ?? '?')}`

/** Makes notices of Events by type; a type without an entry has no notice. */
const table: Readonly<Record<string, (event: Event) => Notice>> = {
  'svc.environment.apply': event => {
    const environment = `environment “${textOf(event, 'name')}” r${numberOf(event, 'revision') ?? '?'}`
    const of = { about: 'setup', step: `setup ${textOf(event, 'leaseId')}` } as const
    if (textOf(event, 'status') === 'started') {
      return { tone: 'quiet', text: `Setting up ${environment}`, ...of, ongoing: true }
    }
    const shared = { ...of, ...detailOf(textOf(event, 'outputTail')) }
    const outcome = applyOutcome(event)
    return textOf(event, 'status') === 'succeeded'
      ? { tone: 'quiet', text: `Set up ${environment}${outcome.slice('succeeded'.length)}`, ...shared }
      : { tone: 'bad', text: `Setup of ${environment} ${outcome}`, ...shared }
  },
  'svc.workspace.progress': event => {
    const title = textOf(event, 'title')
    const status = textOf(event, 'status')
    const step = textOf(event, 'stepId')
    if (status === 'started') return { tone: 'quiet', text: title, step, ongoing: true }
    const time = formatDuration(numberOf(event, 'durationMs') ?? 0)
    if (status === 'failed') return { tone: 'warning', text: `${title} failed (${time})`, step }
    return { tone: 'quiet', text: `${title} (${time})`, step }
  },
  'svc.artifact.omitted': event => ({
    tone: 'warning',
    text:
      textOf(event, 'kind') === 'revision'
        ? 'The changes of the Run were not stored for review'
        : `${textOf(event, 'name')} (${formatBytes(numberOf(event, 'sizeBytes') ?? 0)}) was not kept`,
    // The service counts in bytes alone.
    ...detailOf(textOf(event, 'reason').replace(/\b\d{4,15} bytes\b/, size => formatBytes(Number.parseInt(size, 10)))),
    about: 'omission',
  }),
  'svc.publication.created': event => {
    const { result } = event.data
    const link = linkOf(result)
    // The first commit of a repository goes to its branch, whichever delivery was requested.
    const delivery = memberOf(result, 'delivery') ?? textOf(event, 'delivery')
    const text = delivery === 'pull_request' ? 'Pull request opened' : 'Pushed to the branch'
    return { tone: 'good', text, sets: ['deliveredAt'], ...(link === null ? {} : { link }) }
  },
  'svc.publication.failed': event => ({
    tone: 'bad',
    text: `Publishing failed: ${plain(textOf(event, 'errorCode'))}`,
    sets: ['deliveredAt'],
  }),
  'svc.publication.merge_succeeded': event => {
    const commit = textOf(event, 'mergedCommitSha')
    return { tone: 'good', text: `Merged${commit && ` as ${commit.slice(0, 8)}`}`, sets: ['deliveredAt'] }
  },
  'svc.publication.merge_failed': event => ({
    tone: 'bad',
    text: `Merging failed: ${plain(textOf(event, 'errorCode'))}`,
    sets: ['deliveredAt'],
  }),
  'svc.followup.started': event => ({
    tone: 'quiet',
    text: `Following pull request ${pullOf(event)} until it is merged`,
    sets: ['deliveredAt'],
  }),
  'svc.followup.attempted': event => ({
    tone: 'quiet',
    text: `Pull request ${pullOf(event)} needs work: ${attemptCauses.get(textOf(event, 'cause')) ?? plain(textOf(event, 'cause'))}`,
    sets: ['deliveredAt'],
  }),
  'svc.followup.ended': event => {
    const [state, reason] = [textOf(event, 'state'), plain(textOf(event, 'reason'))]
    const because = reason === '' ? '' : `: ${reason}`
    const sets = ['deliveredAt'] as const
    if (state === 'merged') return { tone: 'good', text: `Pull request ${pullOf(event)} was merged`, sets }
    if (state === 'closed')
      return { tone: 'quiet', text: `Pull request ${pullOf(event)} was closed without a merge`, sets }
    return state === 'stopped'
      ? { tone: 'quiet', text: `No longer following pull request ${pullOf(event)}${because}`, sets }
      : { tone: 'warning', text: `Pull request ${pullOf(event)} needs a person${because}`, sets }
  },
  'svc.verification.started': event => ({
    tone: 'quiet',
    text: 'Checking the changes in a fresh sandbox',
    step: `verification ${textOf(event, 'verificationId')}`,
    ongoing: true,
    sets: ['deliveredAt'],
  }),
  'svc.verification.completed': event => {
    const state = textOf(event, 'state')
    const also = { step: `verification ${textOf(event, 'verificationId')}`, sets: ['deliveredAt'] } as const
    const [passed = 0, failed = 0] = ['passed', 'failed'].map(end => Number(memberOf(event.data['counts'], end) ?? 0))
    const counts = `${passed} of ${passed + failed} checks passed`
    if (state === 'passed') return { tone: 'good', text: `Changes verified: ${counts}`, ...also }
    if (state === 'failed') return { tone: 'bad', text: `Changes not verified: ${counts}`, ...also }
    return { tone: 'warning', text: `The changes could not be checked: ${plain(state)}`, ...also }
  },
  'svc.context.compacted': event => ({
    tone: 'quiet',
    text: `Conversation summarized: ${count(event, 'tokensBefore')} to ${count(event, 'tokensAfter')} tokens`,
  }),
  'svc.conversation.cleared': event =>
    textOf(event, 'reason') === 'checkpoint_missing'
      ? { tone: 'warning', text: 'Session reset: earlier work could not be restored', sets: ['changedAt'] }
      : { tone: 'quiet', text: 'Conversation cleared', sets: ['changedAt'] },
  'svc.session.forked': () => ({
    tone: 'quiet',
    text: 'Forked from another Session, with its files and its conversation up to there',
  }),
  'svc.turn.steered': event => {
    if (textOf(event, 'status') !== 'missed') return { tone: 'quiet', text: 'The agent has the message' }
    return textOf(event, 'nextRunId') === ''
      ? { tone: 'warning', text: 'The agent stopped before it read a message. Send it again if it still matters' }
      : { tone: 'quiet', text: 'The agent finished before it read a message, and works on it next' }
  },
  'svc.budget.reached': event => ({
    tone: 'warning',
    text: `${Math.round((numberOf(event, 'share') ?? 0) * 100)} % of the ${textOf(event, 'scope')}’s budget of $${(numberOf(event, 'limitUsd') ?? 0).toFixed(2)} is spent`,
  }),
  'svc.egress.refused': event => {
    const [host, count] = [textOf(event, 'host'), numberOf(event, 'count') ?? 1]
    if (host === '') {
      return { tone: 'warning', text: `${count.toLocaleString('en')} further connections were blocked` }
    }
    const allowable = !closed.test(textOf(event, 'reason'))
    const blocked = { host, count, allowable }
    return { ...blockedNotice(blocked), ...detailOf(textOf(event, 'message')) }
  },
  'svc.output.rejected': event => ({
    tone: 'warning',
    text: `The answer is not the requested JSON${event.data.retried === true ? '; the agent tries once more' : ''}`,
    ...detailOf(issuesOf(event).join('\n')),
  }),
  'svc.timeline.truncated': event => ({
    tone: 'warning',
    text: `${count(event, 'droppedEvents')} Events are missing from the log`,
    ...detailOf(textOf(event, 'reason')),
  }),
  'svc.delegation.completed': event => ({
    tone: textOf(event, 'status') === 'failed' ? 'warning' : 'quiet',
    text: `Sub-agent ${plain(textOf(event, 'status'))}`,
    ...detailOf(textOf(event, 'summary')),
  }),
  'svc.workspace.expired': () => ({
    tone: 'quiet',
    text: 'Sandbox paused',
    about: 'sandbox',
    sets: ['changedAt', 'editedAt'],
  }),
  // An agent's own calls belong to a Run; this one is the worker's, before the agent begins.
  'svc.activity.completed': event => ({
    tone: 'quiet',
    text: 'Sandbox resumed',
    about: 'sandbox',
    ...detailOf(textOf(event, 'title')),
    sets: ['editedAt'],
  }),
}

/** Returns the notice of an Event; undefined if its type has none. */
export const noticeOf = (event: Event): Notice | undefined =>
  Object.hasOwn(table, event.type) ? table[event.type]?.(event) : undefined

const detailOf = (detail: string): { readonly detail?: string } => (detail.trim() === '' ? {} : { detail })

const plain = (code: string): string => (code === '' ? 'unknown error' : code.replaceAll('_', ' '))

const count = (event: Event, name: string): string => numberOf(event, name)?.toLocaleString('en') ?? '?'

/** Returns one line for each place of a value that does not match its schema. */
function issuesOf({ data: { issues } }: Event): string[] {
  if (!Array.isArray(issues)) return []
  return issues.map((issue: unknown) => {
    const path = memberOf(issue, 'path')
    const at = Array.isArray(path) && path.length > 0 ? `${path.join('.')}: ` : ''
    return `${at}${String(memberOf(issue, 'message') ?? '')}`
  })
}

function linkOf(result: unknown): NonNullable<NoticeRow['link']> | null {
  const pull = memberOf(result, 'pullRequest')
  const url = memberOf(pull, 'url')
  const number = memberOf(pull, 'number')
  return typeof url === 'string' && /^https?:\/\//i.test(url) ? { label: `#${String(number)}`, url } : null
}
