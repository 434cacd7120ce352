import { type Approval, type ApprovalOption, interactionLimits as bounds, confinements } from '@berth/contract'
import type { Ask, InteractionRow } from '@berth/core/sessions/interactions/interaction.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { readForm } from './acp-form.ts'
import { asObject, asText, berthMeta, isOverlong, readCallText, type ToolUpdate } from './acp-message.ts'
import { type Order, refuse, reply } from './acp-orders.ts'
import { boundInput } from './bounded-activity.ts'
import { clip } from './clip.ts'
import type { KnownCall } from './transcript.ts'

/** The data for a reply to an agent's request; the Interaction keeps it until the journal holds the reply. */
export type AgentRequest =
  | {
      readonly method: 'permission'
      readonly id: number | string
      /** Null for a declined request. */
      readonly allow: string | null
      readonly deny: string | null
    }
  | { readonly method: 'form'; readonly id: number | string }

/** An agent's request to people. */
export interface Question {
  readonly ask: Ask
  readonly agentRequest: AgentRequest
  /** True if people could decide nothing, or could not be shown the action. */
  readonly declined?: boolean
}

/** Longest id of a request or an option that is kept for the reply, in bytes of UTF-8; a row holds it until then. */
export const MAX_REPLY_ID_BYTES = 64 * 1024

/** An action is shown whole or not at all: nobody can approve an action they do not see. */
const MAX_INPUT_BYTES = 256 * 1024

/**
 * Returns a permission request as people see it: leaving plan mode if the call switches the mode, else an approval. It
 * is declined if the agent offers no option to allow the action once, or if the action is too large to show.
 *
 * @param call the transcript's record of the call; a request need not repeat it
 */
export function readPermission(
  id: number | string,
  params: Json,
  update: ToolUpdate | null,
  call: KnownCall | null,
): Question {
  const given = asObject(params['toolCall']) ?? {}
  const options = optionsOf(params)
  const [allow, deny] = [optionIdOf(options, 'allow_once'), denyOptionOf(params)].map(kept)
  const agentRequest: AgentRequest = { method: 'permission', id, allow: allow ?? null, deny: deny ?? null }
  const kind = update?.kind ?? call?.kind ?? 'other'
  const title = update?.title ?? call?.title ?? ''
  if (kind === 'switch_mode') {
    const prompt = clip(title, bounds.questionCharacters)
    const ask = { kind: 'exit_plan_mode', prompt, ...readPlan(given, call) } as const
    return { ask, agentRequest, declined: agentRequest.allow === null }
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
  return { ask: { kind: 'approval', approval }, agentRequest, declined: agentRequest.allow === null || input === null }
}

/**
 * Returns the option that denies a request once; null if the agent offers none. Options for always are never chosen.
 */
export const denyOptionOf = (params: Json): string | null => optionIdOf(optionsOf(params), 'reject_once')

/** An option that is too long to be kept counts as not offered: the start of its id would choose another. */
const kept = (optionId: string | null) => (isOverlong(optionId, MAX_REPLY_ID_BYTES) ? null : optionId)

const optionsOf = (params: Json): Json[] =>
  Array.isArray(params['options']) ? params['options'].map(asObject).filter(item => item !== null) : []

const optionIdOf = (options: readonly Json[], kind: string): string | null =>
  asText(options.find(option => option['kind'] === kind)?.['optionId']) ?? null

/** Returns an agent's form. A request to send people elsewhere is declined. */
export function readElicitation(id: number | string, params: Json): Question {
  const schema = asObject(params['requestedSchema'])
  const questions = readForm(asText(params['message']) ?? '', schema ?? {})
  const declined = params['mode'] !== 'form' || schema === null
  return { ask: { kind: 'ask_user', questions }, agentRequest: { method: 'form', id }, declined }
}

/** Returns the tool's input; if the agent gives none, the shown text of the call. */
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

/** JSON-RPC's error code for a request that its caller withdrew. */
const REQUEST_CANCELLED = -32800

export const agentRequestOf = (row: Pick<InteractionRow, 'agent_request'>): AgentRequest =>
  JSON.parse(row.agent_request)

/** Returns the reply to the agent for an Interaction that was closed. */
export function answerTo(row: InteractionRow): Order {
  const request = agentRequestOf(row)
  const { journal_offset: offset, resolution } = row
  if (resolution === 'request_gone') return refuse(offset, request.id, REQUEST_CANCELLED, 'the request was cancelled')
  return reply(offset, request.id, request.method === 'form' ? formResult(row) : permissionResult(row, request))
}

function formResult(row: InteractionRow): object {
  if (row.answer === null) return { action: 'cancel' }
  const { content, text }: { content: object; text?: string } = JSON.parse(row.answer)
  return { action: 'accept', content, ...(text !== undefined && { _meta: { berth: { text } } }) }
}

function permissionResult(row: InteractionRow, request: Extract<AgentRequest, { method: 'permission' }>): object {
  const { resolution } = row
  if (resolution === 'run_cancelled' || resolution === 'authority_revoked') return { outcome: { outcome: 'cancelled' } }
  const granted = row.status === 'resolved' && row.resolution !== 'denied'
  if (granted && request.allow !== null) return { outcome: selected(request.allow) }
  const { text }: { text?: string } = row.answer === null ? {} : JSON.parse(row.answer)
  return { outcome: denial(request.deny), ...(text !== undefined && { _meta: { berth: { feedback: text } } }) }
}

const selected = (optionId: string) => ({ outcome: 'selected', optionId })

/** Denies a permission request: by the agent's own option if it offers one, else as cancelled. */
export const denial = (deny: string | null) => (deny === null ? { outcome: 'cancelled' } : selected(deny))

/** Ends a plan that is cut, so that people see it in every client: they approve the whole by its beginning. */
const CUT = '\n\n[The plan is longer than can be shown. This is its beginning.]'

/** A plan as people are shown it. */
export interface ShownPlan {
  readonly plan: string
  /** Set if the agent's plan is longer. */
  readonly planTruncated?: true
}

/**
 * Returns the plan that a tool call asks people to approve, within its bound in characters. A plan that is cut says so.
 * @param given the call as the request for permission has it
 * @param call the call as the transcript has it, whose texts are held to a bound in bytes
 */
export function readPlan(given: Json, call: Pick<KnownCall, 'text' | 'input' | 'truncated'> | null): ShownPlan {
  const whole = readCallText(given) ?? planIn(given['rawInput'])
  const plan = whole ?? call?.text ?? planIn(call?.input) ?? ''
  const isCut = (whole === undefined && call?.truncated === true) || clip(plan, bounds.planCharacters) !== plan
  return isCut ? { plan: clip(plan, bounds.planCharacters - CUT.length) + CUT, planTruncated: true } : { plan }
}

const planIn = (input: unknown) => asText(asObject(input)?.['plan'])
