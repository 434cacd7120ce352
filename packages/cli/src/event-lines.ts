import { stripVTControlCharacters } from 'node:util'
import { changesLabel, type Event, reasonLabel } from '@berth/client'
import {
  type BackgroundCommand,
  type EndRow,
  formatDuration,
  type InteractionRow,
  type NoticeRow,
  type PlanEntry,
  planProgress,
  type RowChange,
  type ToolStep,
} from '@berth/client/transcript'
import { messageLines } from './message-lines.ts'
import type { Paint } from './output.ts'
import { clip, printable, printableLine } from './terminal-text.ts'

/** Steps of a plan that are shown, from one before the current. */
const planSteps = 6
/** Lines of a tool's output or of a notice's detail that are shown. */
const detailLines = 12

/** Returns output as a terminal may show it: colours go, and a progress bar becomes lines. */
export const outputText = (text: string): string => printable(stripVTControlCharacters(text).replace(/\r+\n?/g, '\n'))

/** Returns the lines of a changed row, without its tool calls. */
export function rowLines({ row, steps }: RowChange, { type, subject }: Event, paint: Paint): string[] {
  switch (row.kind) {
    case 'reply':
      return messageLines(printable(row.text).trimEnd(), paint)
    case 'steps': {
      const thoughts = steps.flatMap(step => (step.kind === 'thought' ? indented(step.text, paint, '') : []))
      if (row.lane === undefined || steps.length > 0) return thoughts
      const { task, outcome, summary } = row.lane
      if (outcome === null) return noticeLines({ tone: 'quiet', text: `Sub-agent: ${firstLine(task)}` }, paint)
      const tone = outcome === 'failed' ? 'warning' : 'quiet'
      return noticeLines({ tone, text: `Sub-agent ${outcome}`, detail: summary }, paint)
    }
    case 'interaction':
      return row.status === 'open' ? questionLines(row, subject.sessionId, paint) : []
    case 'artifact':
      return [`${paint('cyan', '+')} ${printableLine(row.name)}`]
    case 'notice':
      return row.ongoing === true ? [] : noticeLines(row, paint)
    case 'end':
      return type === 'svc.revision.created'
        ? changesLines(row, subject.sessionId, paint)
        : endLines(row, subject.sessionId, paint)
    default:
      return []
  }
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? ''

/** Returns the line of a tool call that has ended. */
export function toolLine({ title, status, durationMs }: ToolStep, paint: Paint): string {
  const mark = status === 'failed' ? paint('red', '✗') : paint('green', '✓')
  const time = durationMs === null ? '' : paint('dim', ` ${formatDuration(durationMs)}`)
  return `${mark} ${printableLine(title)}${time}`
}

/** Returns the last lines of a program's output, because they matter most. */
export function lastLines(output: string, paint: Paint): string[] {
  const text = output.trimEnd()
  if (text === '') return []
  const lines = text.split('\n')
  const hidden = lines.length - detailLines
  const mark = hidden > 0 ? [`… ${hidden} more line${hidden === 1 ? '' : 's'} above`] : []
  return [...mark, ...lines.slice(-detailLines)].map(line => paint('dim', `  ${line}`))
}

const colours = { quiet: 'dim', good: 'green', warning: 'yellow', bad: 'red' } as const

function noticeLines(notice: Pick<NoticeRow, 'tone' | 'text' | 'detail' | 'link' | 'about'>, paint: Paint): string[] {
  const { tone, text, detail = '', link, about } = notice
  const line = paint(colours[tone], `• ${printableLine(link === undefined ? text : `${text} ${link.url}`)}`)
  if (about === 'setup') return tone === 'bad' ? [line, ...lastLines(outputText(detail), paint)] : [line]
  const lines = indented(detail, paint, '  ')
  const hidden = lines.length - detailLines
  return [line, ...lines.slice(0, detailLines), ...(hidden > 0 ? [paint('dim', `  … ${hidden} more`)] : [])]
}

function indented(text: string, paint: Paint, indent: string): string[] {
  const lines = printable(text).trimEnd()
  return lines === '' ? [] : lines.split('\n').map(line => paint('dim', `${indent}${line}`))
}

/** Returns the question that the Run waits on, and the command that answers it. */
function questionLines(row: InteractionRow, sessionId: string, paint: Paint): string[] {
  const [session, id] = [sessionId, String(row.interactionId)].map(printableLine)
  const command =
    row.interactionKind === 'approval' ? `berth approve ${session} ${id}` : `berth answer ${session} <text> --to ${id}`
  return [paint('yellow', `? ${printableLine(row.subject)}`), paint('dim', `  ${command}`)]
}

/** Returns the steps of a plan around the current one; none once all are done. */
export function planLines(entries: readonly PlanEntry[], columns: number, paint: Paint): string[] {
  const { done, current } = planProgress(entries)
  if (current === undefined) return []
  const first = Math.max(0, Math.min(entries.indexOf(current) - 1, entries.length - planSteps))
  const shown = entries.slice(first, first + planSteps)
  const lines = shown.map(entry => {
    const text = clip(printableLine(entry.content), columns - 5)
    if (entry.status === 'completed') return paint('dim', `  ✓ ${text}`)
    return entry === current ? `  ${paint('cyan', '▸')} ${text}` : `  ○ ${text}`
  })
  const count = entries.length > planSteps ? [paint('dim', `  ${done} of ${entries.length} done`)] : []
  return [...lines, ...count]
}

/** Returns the commands that run in the background. */
export function backgroundLines(commands: readonly BackgroundCommand[], columns: number, paint: Paint): string[] {
  const running = commands.filter(({ status }) => status === 'running')
  return running.map(({ command }) => paint('dim', `  & ${clip(printableLine(command), columns - 5)}`))
}

function endLines(row: EndRow, sessionId: string, paint: Paint): string[] {
  const { errorCode, stopReason, durationMs } = row
  // A limit ended it: there is more to do.
  const isStopped = row.outcome === 'completed' && reasonLabel(row) !== ''
  const outcome = isStopped ? 'stopped' : row.outcome
  const cause = isStopped ? reasonLabel(row) : (errorCode ?? (stopReason === 'completed' ? null : stopReason))
  const details = [cause, durationMs === null ? null : formatDuration(durationMs), costText(row)]
  const text = details.filter(detail => detail !== null).map(detail => ` · ${printableLine(detail)}`)
  const colour = outcome === 'completed' ? 'green' : outcome === 'cancelled' || isStopped ? 'yellow' : 'red'
  const wayOn = isStopped ? [paint('dim', `  berth run --session ${printableLine(sessionId)} Continue.`)] : []
  const output = row.output === undefined ? [] : printable(JSON.stringify(row.output, null, 2)).split('\n')
  return [`${paint(colour, outcome)}${text.length === 0 ? '' : paint('dim', text.join(''))}`, ...wayOn, ...output]
}

/** Returns the size of the changes that a Run left, and the command that shows them. */
function changesLines({ changes }: EndRow, sessionId: string, paint: Paint): string[] {
  const size = changesLabel(changes)
  return size === '' ? [] : [`• ${size}`, paint('dim', `  berth review ${printableLine(sessionId)}`)]
}

/** Returns a Run's cost for display; null if it is unknown. */
export function costText({ costUsd, costComplete }: EndRow): string | null {
  if (costUsd === null) return null
  return `${costComplete ? '' : 'at least '}$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`
}
