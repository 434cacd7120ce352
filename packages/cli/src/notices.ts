import type { Event } from '@berth/client'
import { numberOf, textOf } from './event-data.ts'
import type { Paint } from './output.ts'
import { printable, printableLine } from './terminal-text.ts'

/** One line that tells of an Event, and more lines for people who have to act on it. */
interface Notice {
  readonly look: 'dim' | 'green' | 'yellow' | 'red'
  readonly text: string
  readonly detail?: string
}

/** Lines of a notice's detail that are shown: the first, since they say what the rest is about. */
const detailLines = 12

const table: Readonly<Record<string, (event: Event) => Notice>> = {
  'svc.turn.steered': event => {
    if (textOf(event, 'status') !== 'missed') return { look: 'dim', text: 'the agent has the message' }
    return textOf(event, 'nextRunId') === ''
      ? { look: 'yellow', text: 'the run ended before the agent read the message; send it again if it still matters' }
      : { look: 'dim', text: 'the run ended before the agent read the message; the next run works on it' }
  },
  'svc.session.forked': event => ({
    look: 'dim',
    text: `forked from session ${textOf(event, 'sourceSessionId')}, with its files and its conversation up to there`,
  }),
  'svc.output.rejected': event => ({
    look: 'yellow',
    text: `the answer is not the JSON that was asked for${event.data.retried === true ? '; the agent tries once more' : ''}`,
    detail: issuesOf(event).join('\n'),
  }),
  'svc.context.compacted': event => ({
    look: 'dim',
    text: `conversation summarized: ${count(event, 'tokensBefore')} to ${count(event, 'tokensAfter')} tokens`,
  }),
  'svc.conversation.cleared': event =>
    textOf(event, 'reason') === 'checkpoint_missing'
      ? { look: 'yellow', text: 'session reset: earlier work could not be restored' }
      : { look: 'dim', text: 'conversation cleared' },
  'svc.timeline.truncated': event => ({
    look: 'yellow',
    text: `${count(event, 'droppedEvents')} events are missing here`,
    detail: textOf(event, 'reason'),
  }),
  'svc.delegation.completed': event => ({
    look: textOf(event, 'status') === 'failed' ? 'yellow' : 'dim',
    text: `sub-agent ${words(textOf(event, 'status'))}`,
    detail: textOf(event, 'summary'),
  }),
  'svc.artifact.omitted': event => ({
    look: 'yellow',
    text: `${textOf(event, 'name')} was not kept`,
    detail: textOf(event, 'reason'),
  }),
  'svc.publication.created': event => ({
    look: 'green',
    text:
      deliveryOf(event) === 'pull_request'
        ? `pull request opened ${pullRequestUrl(event)}`.trimEnd()
        : 'pushed to the branch',
  }),
  'svc.publication.failed': event => ({ look: 'red', text: `publishing failed: ${words(textOf(event, 'errorCode'))}` }),
  'svc.publication.merge_succeeded': event => ({
    look: 'green',
    text: `merged as ${textOf(event, 'mergedCommitSha').slice(0, 8)}`.replace(/ as $/, ''),
  }),
  'svc.publication.merge_failed': event => ({
    look: 'red',
    text: `merging failed: ${words(textOf(event, 'errorCode'))}`,
  }),
  'svc.workspace.expired': () => ({ look: 'dim', text: 'the sandbox was released' }),
}

/** Returns the lines that tell of an Event which is neither content nor a step of its Run; none for other types. */
export function noticeLines(event: Event, paint: Paint): string[] {
  const notice = Object.hasOwn(table, event.type) ? table[event.type]?.(event) : undefined
  if (notice === undefined) return []
  const { look, text, detail = '' } = notice
  const more = detail.trim() === '' ? [] : printable(detail).trimEnd().split('\n')
  const hidden = more.length - detailLines
  const shown = hidden > 0 ? [...more.slice(0, detailLines), `… ${hidden} more`] : more
  return [paint(look, `• ${printableLine(text)}`), ...shown.map(line => paint('dim', `  ${line}`))]
}

const words = (code: string): string => (code === '' ? 'unknown error' : code.replaceAll('_', ' '))

const count = (event: Event, name: string): string => numberOf(event, name)?.toLocaleString('en') ?? '?'

/** Returns the places of a value that fail its schema, one line each. */
function issuesOf({ data }: Event): string[] {
  if (!Array.isArray(data.issues)) return []
  return data.issues.map((issue: unknown) => {
    const path: unknown = Reflect.get(Object(issue), 'path')
    const at = Array.isArray(path) && path.length > 0 ? `${path.join('.')}: ` : ''
    return `${at}${String(Reflect.get(Object(issue), 'message') ?? '')}`
  })
}

/** Returns how something was delivered: the first commit of a repository goes to its branch, whatever was asked for. */
function deliveryOf(event: Event): unknown {
  return Reflect.get(Object(event.data.result), 'delivery') ?? textOf(event, 'delivery')
}

function pullRequestUrl({ data }: Event): string {
  const url: unknown = Reflect.get(Object(Reflect.get(Object(data.result), 'pullRequest')), 'url')
  return typeof url === 'string' ? url : ''
}
