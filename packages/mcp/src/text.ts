import type { Interaction } from '@berth/client'

/** Returns a text that is at most this long, without its middle, and says how much was left out. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

/**
 * Characters that a terminal obeys or that change the reading order. Agents write the quoted text, and clients show it
 * to people.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Returns text of which a terminal obeys nothing but line breaks and tabs. */
export const printable = (text: string): string => text.toWellFormed().replace(/\r\n/g, '\n').replace(obeyed, '\ufffd')

/** Returns an open Interaction as a model needs it to answer. */
export function waitingText({ id, kind, request }: Interaction): string {
  const { approval, questions = [], plan } = request
  if (approval !== undefined) {
    const input = approval.input === undefined ? '' : `\n${JSON.stringify(approval.input)}`
    const scopes = (approval.rememberScopes ?? []).map(scope => `allow_${scope}`)
    const wider = scopes.length === 0 ? '' : `\nwider decisions: ${scopes.join(', ')}`
    return `approval ${id}: ${approval.title ?? approval.toolName}${input}${wider}`
  }
  if (kind === 'exit_plan_mode') return `plan ${id}: ${planText(plan) || (request.prompt ?? '')}`
  const lines = questions.map(({ question, options, fieldId }, at) => {
    const choices = options.length === 0 ? '' : ` [${options.join(' | ')}]`
    return questions.length === 1 ? `${question}${choices}` : `\n  ${fieldId ?? at}: ${question}${choices}`
  })
  return `question ${id}: ${lines.join('') || (request.prompt ?? '')}`
}

const planText = (plan: unknown): string =>
  typeof plan === 'string' ? plan : plan === undefined ? '' : JSON.stringify(plan)
