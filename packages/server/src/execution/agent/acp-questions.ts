import { type Approval, type ApprovalOption, interactionLimits as bounds, confinements } from '@berth/contract'
import type { Ask } from '../../sessions/interactions/interaction.ts'
import { readForm } from './acp-form.ts'
import { asObject, asText, berthMeta, type ToolUpdate } from './acp-message.ts'
import { readPlan } from './acp-plan.ts'
import { boundInput } from './bounded-activity.ts'
import { clip } from './clip.ts'
import type { KnownCall } from './transcript.ts'

type Json = Readonly<Record<string, unknown>>

/** What the answer to an agent's request is made of; kept beside the Interaction until the journal holds the answer. */
export type AgentRequest =
  | {
      readonly method: 'permission'
      readonly id: number | string
      /** Null where it is declined. */
      readonly allow: string | null
      readonly deny: string | null
    }
  | { readonly method: 'form'; readonly id: number | string }

/** A request of an agent that people are to be asked. */
export interface Question {
  readonly ask: Ask
  readonly agentRequest: AgentRequest
  /** There is nothing that people could decide, or could be shown. */
  readonly declined?: boolean
}

/** The proposed action is shown whole or not at all: nobody can approve what they do not see. */
const MAX_INPUT_BYTES = 256 * 1024

/**
 * A permission request as people see it: leaving plan mode where the call is one to switch the mode, else an approval.
 * Declined where there is nothing to decide: the agent offers no way to allow it this once, or what it is about to do is
 * too much to show.
 * @param call what the transcript knows of the call; a request need not repeat it
 */
export function readPermission(
  id: number | string,
  params: Json,
  update: ToolUpdate | null,
  call: KnownCall | null,
): Question {
  const given = asObject(params['toolCall']) ?? {}
  const options = optionsOf(params)
  const allow = optionIdOf(options, 'allow_once')
  const agentRequest: AgentRequest = { method: 'permission', id, allow, deny: denyOptionOf(params) }
  const kind = update?.kind ?? call?.kind ?? 'other'
  const title = update?.title ?? call?.title ?? ''
  if (kind === 'switch_mode') {
    const prompt = clip(title, bounds.questionCharacters)
    const ask = { kind: 'exit_plan_mode', prompt, ...readPlan(given, call) } as const
    return { ask, agentRequest, declined: allow === null }
  }
  const input = inputOf(given, call)
  const meta = { ...berthMeta(given), ...berthMeta(params) }
  const confinement = confinements.find(known => known === meta['confinement'])
  const approval: Omit<Approval, 'requestId' | 'runId' | 'deadline'> = {
    toolName: call?.toolName ?? kind,
    ...(title !== '' && { title: clip(title, bounds.questionCharacters) }),
    ...(input !== null && { input }),
    options: options.slice(0, bounds.options).flatMap(readOption),
    kind,
    ...textsOf(meta, ['reason', 'destination']),
    ...(call !== null && { itemId: call.activityId }),
    confinement: confinement ?? (kind === 'fetch' ? 'network' : 'sandbox'),
  }
  return { ask: { kind: 'approval', approval }, agentRequest, declined: allow === null || input === null }
}

/** The option by which an agent is told no; null where it offers none. Its always-options are never chosen. */
export const denyOptionOf = (params: Json): string | null => optionIdOf(optionsOf(params), 'reject_once')

const optionsOf = (params: Json): Json[] =>
  Array.isArray(params['options']) ? params['options'].map(asObject).filter(item => item !== null) : []

const optionIdOf = (options: readonly Json[], kind: string): string | null =>
  asText(options.find(option => option['kind'] === kind)?.['optionId']) ?? null

/** A form of an agent's; declined where it is none: what people were to do elsewhere they are not sent to. */
export function readElicitation(id: number | string, params: Json): Question {
  const schema = asObject(params['requestedSchema'])
  const questions = readForm(asText(params['message']) ?? '', schema ?? {})
  const declined = params['mode'] !== 'form' || schema === null
  return { ask: { kind: 'ask_user', questions }, agentRequest: { method: 'form', id }, declined }
}

/** What the tool is given; where the agent does not say, what it shows of the call. */
function inputOf(given: Json, call: KnownCall | null): Record<string, unknown> | null {
  const raw = given['rawInput'] ?? undefined
  if (raw === undefined && call?.input === undefined && call?.truncated === true) return null
  const shown = { ...withContent(given, 'content'), ...withContent(given, 'locations') }
  const bounded = boundInput(raw ?? call?.input ?? shown, MAX_INPUT_BYTES)
  if (bounded.truncated) return null
  return { ...(asObject(bounded.value) ?? { value: bounded.value }) }
}

const withContent = (given: Json, name: string) => {
  const list = given[name]
  return Array.isArray(list) && list.length > 0 ? { [name]: list } : {}
}

const optionKinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const

function readOption(option: Json): ApprovalOption[] {
  const optionId = asText(option['optionId'])
  const kind = optionKinds.find(known => known === option['kind'])
  if (optionId === undefined || kind === undefined) return []
  const description = asText(option['description'])
  return [
    {
      optionId: clip(optionId, bounds.optionCharacters),
      name: clip(asText(option['name']) ?? optionId, bounds.optionCharacters),
      kind,
      ...(description !== undefined && { description: clip(description, bounds.optionCharacters) }),
    },
  ]
}

function textsOf<Name extends string>(meta: Json, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const text = asText(meta[name])
    if (text !== undefined) found[name] = clip(text, bounds.questionCharacters)
  }
  return found
}
