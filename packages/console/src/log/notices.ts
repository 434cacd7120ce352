import type { EventData, EventType } from '@berth/contract'
import { bytes, duration } from '../ui/words.ts'
import type { LogView } from './fold.ts'
import type { NoticeRow } from './rows.ts'

/** The content of a notice, and what else its Event says about the Session. */
interface Notice extends Pick<NoticeRow, 'tone' | 'text' | 'detail' | 'link' | 'about'> {
  readonly sets?: readonly (keyof Pick<LogView, 'changedAt' | 'deliveredAt' | 'editedAt'>)[]
  /** True if the notice takes the place of the one directly before it. */
  readonly replaces?: boolean
}

const table: { readonly [T in EventType]?: (data: EventData<T>) => Notice | null } = {
  'svc.environment.apply': data => {
    const named = `environment “${data.name}” r${data.revision}`
    if (data.status === 'started') return { tone: 'quiet', text: `Setting up ${named}` }
    const took = data.durationMs === undefined ? '' : ` in ${duration(data.durationMs)}`
    const detail = data.outputTail === undefined || data.outputTail === '' ? {} : { detail: data.outputTail }
    if (data.status === 'succeeded') return { tone: 'quiet', text: `Set up ${named}${took}`, replaces: true, ...detail }
    const code = data.setupExitCode === undefined ? '' : `, exit code ${data.setupExitCode}`
    return { tone: 'bad', text: `Setup of ${named} failed${took}${code}`, replaces: true, ...detail }
  },
  'svc.artifact.omitted': data => ({
    tone: 'warning',
    text: `${data.name} (${bytes(data.sizeBytes)}) was not kept`,
    // The service counts in bytes alone.
    detail: data.reason.replace(/\b\d{4,15} bytes\b/, size => bytes(Number.parseInt(size, 10))),
    about: 'omission',
  }),
  'svc.publication.created': ({ delivery, result }) => {
    const link = linkOf(result)
    // The first commit of a repository goes to its branch, whatever was asked for.
    const made: unknown = Reflect.get(Object(result), 'delivery') ?? delivery
    const text = made === 'pull_request' ? 'Pull request opened' : 'Pushed to the branch'
    return { tone: 'good', text, sets: ['deliveredAt'], ...(link === null ? {} : { link }) }
  },
  'svc.publication.failed': ({ errorCode }) => ({
    tone: 'bad',
    text: `Publishing failed: ${plain(errorCode)}`,
    sets: ['deliveredAt'],
  }),
  'svc.publication.merge_succeeded': ({ mergedCommitSha }) => ({
    tone: 'good',
    text: `Merged${mergedCommitSha === undefined ? '' : ` as ${mergedCommitSha.slice(0, 8)}`}`,
    sets: ['deliveredAt'],
  }),
  'svc.publication.merge_failed': ({ errorCode }) => ({
    tone: 'bad',
    text: `Merging failed: ${plain(errorCode)}`,
    sets: ['deliveredAt'],
  }),
  'svc.context.compacted': ({ tokensBefore, tokensAfter }) => ({
    tone: 'quiet',
    text: `Conversation summarized: ${tokensBefore.toLocaleString('en')} to ${tokensAfter.toLocaleString('en')} tokens`,
  }),
  'svc.conversation.cleared': ({ reason }) =>
    reason === 'checkpoint_missing'
      ? { tone: 'warning', text: 'Session reset: earlier work could not be restored', sets: ['changedAt'] }
      : { tone: 'quiet', text: 'Conversation cleared', sets: ['changedAt'] },
  'svc.session.forked': () => ({
    tone: 'quiet',
    text: 'Forked from another Session, with its files and its conversation up to there',
  }),
  'svc.turn.steered': ({ status, nextRunId }) => {
    if (status !== 'missed') return null
    return nextRunId === undefined
      ? { tone: 'warning', text: 'The agent stopped before it read a message. Send it again if it still matters' }
      : { tone: 'quiet', text: 'The agent finished before it read a message, and works on it next' }
  },
  'svc.timeline.truncated': ({ droppedEvents, reason }) => ({
    tone: 'warning',
    text: `${droppedEvents.toLocaleString('en')} Events are missing from the log`,
    detail: reason,
  }),
  'svc.delegation.completed': ({ status, summary }) => ({
    tone: status === 'failed' ? 'warning' : 'quiet',
    text: `Sub-agent ${plain(status)}`,
    ...(summary === undefined || summary === '' ? {} : { detail: summary }),
  }),
  'svc.workspace.progress': ({ title, status, durationMs = 0 }) =>
    status === 'started'
      ? { tone: 'quiet', text: title }
      : {
          tone: 'quiet',
          text: `${title}${status === 'failed' ? ' failed' : ''} (${duration(durationMs)})`,
          replaces: true,
        },
  'svc.workspace.expired': () => ({ tone: 'quiet', text: 'The sandbox was released', sets: ['changedAt', 'editedAt'] }),
}

/** Makes notices of Events by type. Data is passed as the log has it; a type without an entry has no notice. */
export const notices = table as Readonly<Record<string, ((data: never) => Notice | null) | undefined>> as Readonly<
  Record<string, ((data: unknown) => Notice | null) | undefined>
>

function plain(code: string | undefined): string {
  return (code ?? 'unknown error').replaceAll('_', ' ')
}

function linkOf(result: unknown): NonNullable<NoticeRow['link']> | null {
  const pull: unknown = Reflect.get(Object(result), 'pullRequest')
  const url: unknown = Reflect.get(Object(pull), 'url')
  const number: unknown = Reflect.get(Object(pull), 'number')
  return typeof url === 'string' && /^https?:\/\//i.test(url) ? { label: `#${String(number)}`, url } : null
}
