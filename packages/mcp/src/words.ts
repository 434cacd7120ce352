import type { Event, Interaction } from '@berth/client'

/** Enough to see how a command has ended. */
const OUTPUT_CHARACTERS_MOST = 600

/** Returns a field of an Event's data if it is text, else nothing. */
export function textOf({ data }: Event, name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

/** Returns a text that is at most this long, without its middle, and says how much was left out. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

/**
 * Characters that a terminal obeys or that change the reading order. Agents write what is quoted here, and clients show it
 * to people.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Returns text of which a terminal obeys nothing but line breaks and tabs. */
export const printable = (text: string): string => text.toWellFormed().replace(/\r\n/g, '\n').replace(obeyed, '\ufffd')

/** Returns one paragraph that tells a model of an Event; empty if the Event tells it nothing. */
export function paragraphOf(event: Event): string {
  switch (event.type) {
    case 'svc.message.created':
      return messageOf(event)
    case 'svc.activity.completed': {
      const title = textOf(event, 'title') || textOf(event, 'name')
      const output = textOf(event, 'output').trim()
      const head = `[tool] ${title}${textOf(event, 'status') === 'failed' ? ' (failed)' : ''}`
      return output === '' ? head : `${head}\n${clip(output, OUTPUT_CHARACTERS_MOST)}`
    }
    case 'svc.environment.apply':
      return `[environment ${textOf(event, 'name')}] ${textOf(event, 'status')} ${textOf(event, 'errorCode')}`.trimEnd()
    case 'svc.artifact.created':
      return `[file] ${textOf(event, 'name')}`
    case 'svc.interaction.opened':
      return `[waits for an answer] ${textOf(event, 'interactionId')}`
    case 'svc.run.failed':
    case 'svc.run.completed':
    case 'svc.run.cancelled':
    case 'svc.run.crashed': {
      const cause = textOf(event, 'errorCode') || textOf(event, 'stopReason')
      return `[run ${event.type.slice('svc.run.'.length)}]${cause === '' ? '' : ` ${cause}`}${outputText(event)}`
    }
    default:
      return ''
  }
}

/** Returns the JSON result that a Run ended with; nothing if it has none. */
export function outputOf({ data }: Event): { readonly output?: unknown } {
  const { result } = data
  const hasOne = typeof result === 'object' && result !== null && 'output' in result
  return hasOne ? { output: result.output } : {}
}

/** Returns that result as a block. */
function outputText(event: Event): string {
  const { output } = outputOf(event)
  return output === undefined ? '' : `\n\`\`\`json\n${JSON.stringify(output)}\n\`\`\``
}

function messageOf(event: Event): string {
  const text = textOf(event, 'text').trim()
  switch (textOf(event, 'role')) {
    case 'assistant':
      return text
    case 'user':
      return `[asked] ${clip(text, 500)}`
    default:
      return ''
  }
}

/** Returns an open Interaction as a model needs it to answer. */
export function waitingText({ id, kind, request }: Interaction): string {
  const { approval, questions = [], plan } = request
  if (approval !== undefined) {
    const input = approval.input === undefined ? '' : `\n${JSON.stringify(approval.input)}`
    return `approval ${id}: ${approval.title ?? approval.toolName}${input}`
  }
  if (kind === 'exit_plan_mode') return `plan ${id}: ${planText(plan) || (request.prompt ?? '')}`
  const asked = questions.map(({ question, options, fieldId }, at) => {
    const choices = options.length === 0 ? '' : ` [${options.join(' | ')}]`
    return questions.length === 1 ? `${question}${choices}` : `\n  ${fieldId ?? at}: ${question}${choices}`
  })
  return `question ${id}: ${asked.join('') || (request.prompt ?? '')}`
}

const planText = (plan: unknown): string =>
  typeof plan === 'string' ? plan : plan === undefined ? '' : JSON.stringify(plan)
