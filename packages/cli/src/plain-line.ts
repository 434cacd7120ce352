import type { Event } from '@berth/client'
import {
  backgroundIn,
  backgroundLabel,
  emptyTranscript,
  extendTranscript,
  formatBytes,
  formatDuration,
  numberOf,
  planIn,
  planLabel,
  type Row,
  type Step,
  textOf,
} from '@berth/client/transcript'
import { costText } from './event-lines.ts'
import { jsonLine, printableLine } from './terminal-text.ts'

/** Characters of a tool's output that a line shows: the last ones matter most. */
const outputCharacters = 300

/**
 * Formats an Event as one line, `<sequence> <type> <summary>`. The first two fields contain no space, so scripts can
 * cut at them; the summary is prose and may change. The line contains no control characters, whatever the agent wrote.
 */
export function plainLine(event: Event): string {
  return printableLine(`${event.sequence} ${event.type.replace(/\s/g, '_')} ${summary(event)}`).trimEnd()
}

function summary(event: Event): string {
  if (event.type === 'svc.run.started') return `attempt ${numberOf(event, 'attempt') ?? 1}`
  if (event.type === 'svc.run.progress') return `${textOf(event, 'status')} ${textOf(event, 'name')}`
  if (event.type === 'svc.environment.output') return textOf(event, 'text')
  if (event.type === 'svc.artifact.created') {
    return `${textOf(event, 'name')} (${formatBytes(numberOf(event, 'sizeBytes') ?? 0)})`
  }
  if (event.type === 'svc.plan.updated') return planLabel(planIn(event.data) ?? [])
  if (event.type === 'svc.background.updated') {
    const commands = backgroundIn(event.data) ?? []
    return commands.map(each => `${each.id} ${backgroundLabel(each)}: ${each.command}`).join('; ')
  }
  const [row] = extendTranscript(emptyTranscript, [event]).rows
  return row === undefined ? jsonLine(event.data) : rowText(row)
}

function rowText(row: Row): string {
  switch (row.kind) {
    case 'prompt':
      return `user: ${row.text}`
    case 'reply':
      return `assistant: ${row.text}`
    case 'steps':
      return row.steps.map(stepText).join(' ')
    case 'interaction':
      return joined(row.interactionKind, row.interactionId, row.resolution)
    case 'notice':
      return joined(row.text, row.link?.url, row.detail)
    case 'end':
      return joined(row.errorCode, row.stopReason, costText(row), row.output === undefined ? '' : jsonLine(row.output))
    default:
      return ''
  }
}

function stepText(step: Step): string {
  if (step.kind === 'thought') return `reasoning: ${step.text}`
  const head = `${step.status} ${step.title} (${formatDuration(step.durationMs ?? 0)})`
  if (step.output === undefined) return head
  const characters = Array.from(step.output)
  const hidden = Math.max(0, characters.length - outputCharacters)
  const mark = hidden > 0 ? `(${hidden} more characters before these, see --json) ` : ''
  return `${head}: ${mark}${characters.slice(hidden).join('')}`
}

const joined = (...texts: readonly (string | null | undefined)[]): string => texts.filter(Boolean).join(' ')
