import type { Event } from '@berth/client'
import { applyOutcome } from './environments/apply-log.ts'
import { costText, durationText, numberOf, outputOf, textOf } from './event-data.ts'
import { jsonLine, printableLine } from './terminal-text.ts'

/**
 * Formats an Event as one line, `<sequence> <type> <summary>`. The first two fields contain no space, so scripts can
 * cut at them; the summary is prose and may change. The line contains no control characters, whatever the agent wrote.
 */
export function plainLine(event: Event): string {
  return printableLine(`${event.sequence} ${event.type.replace(/\s/g, '_')} ${summary(event)}`).trimEnd()
}

function summary(event: Event): string {
  switch (event.type) {
    case 'svc.run.started':
      return `attempt ${numberOf(event, 'attempt') ?? 1}`
    case 'svc.run.progress':
      return `${textOf(event, 'status')} ${textOf(event, 'name')}`
    case 'svc.run.completed':
    case 'svc.run.failed':
    case 'svc.run.cancelled':
    case 'svc.run.crashed':
      return [
        textOf(event, 'errorCode'),
        textOf(event, 'stopReason'),
        costText(event),
        ...outputOf(event).map(jsonLine),
      ]
        .filter(Boolean)
        .join(' ')
    case 'svc.environment.apply': {
      const revision = `${textOf(event, 'name')} revision ${numberOf(event, 'revision') ?? '?'}`
      return textOf(event, 'status') === 'started' ? `started ${revision}` : `${revision} ${applyOutcome(event)}`
    }
    case 'svc.workspace.progress': {
      const took = numberOf(event, 'durationMs')
      const time = took === null ? '' : ` (${durationText(took)})`
      return `${textOf(event, 'status')} ${textOf(event, 'title')}${time}`
    }
    case 'svc.environment.output':
      return textOf(event, 'text')
    case 'svc.message.created':
      return `${textOf(event, 'role')}: ${textOf(event, 'text')}`
    case 'svc.activity.completed':
      return activity(event)
    case 'svc.interaction.opened':
    case 'svc.interaction.resolved':
    case 'svc.interaction.expired':
      return [textOf(event, 'kind'), textOf(event, 'interactionId'), textOf(event, 'resolution')]
        .filter(Boolean)
        .join(' ')
    case 'svc.artifact.created':
    case 'svc.artifact.omitted':
      return `${textOf(event, 'name')} ${numberOf(event, 'sizeBytes') ?? '?'} bytes ${textOf(event, 'reason')}`
    default:
      return jsonLine(event.data)
  }
}

function activity(event: Event): string {
  const title = textOf(event, 'title') || textOf(event, 'name')
  const took = numberOf(event, 'durationMs')
  const head = `${textOf(event, 'status')} ${title}${took === null ? '' : ` (${durationText(took)})`}`
  const output = textOf(event, 'output')
  return output === '' ? head : `${head}: ${output}`
}
