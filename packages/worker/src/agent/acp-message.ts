import { createHash } from 'node:crypto'
import type { ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk'
import { type Plan, planLimits, planPriorities, planStatuses, toolKinds } from '@berth/contract'
import { cutMasked, MAX_TEXT_BYTES, storable } from '@berth/core/sessions/log/bounded-text.ts'
import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { ownCredentials, type Redactor } from '@berth/platform/kit/redactor.ts'
import { boundDiffs, boundInput, type Diff } from './bounded-activity.ts'
import { clip } from './clip.ts'

/** Longest identifier kept as an agent gave it, in bytes of UTF-8: of a session, a tool call or a message. */
export const MAX_IDENTIFIER_BYTES = 1024
/** Longest `delegationId` that an Event may hold. */
const MAX_DELEGATION_ID = 255
const MAX_TITLE_BYTES = 1024

/** One line of an agent, classified; a line that is not JSON-RPC is `noise`. */
export type AgentMessage =
  | {
      readonly kind: 'response'
      readonly id: number | string
      readonly result: Json | null
      readonly error: Json | null
    }
  | { readonly kind: 'request'; readonly id: number | string; readonly method: string; readonly params: Json }
  | { readonly kind: 'notification'; readonly method: string; readonly params: Json }
  | { readonly kind: 'noise' }

/**
 * Reads one line of an agent. Agents are not trusted: this never throws. A shape unknown to ACP is noise, so one bad
 * line cannot end a Run.
 */
export function readAgentMessage(line: string): AgentMessage {
  const message = parseObject(line)
  if (message === null || message['jsonrpc'] !== '2.0') return { kind: 'noise' }
  const { id, method } = message
  const hasId = typeof id === 'number' || typeof id === 'string'
  if (typeof method === 'string') {
    const params = asObject(message['params']) ?? {}
    return hasId ? { kind: 'request', id, method, params } : { kind: 'notification', method, params }
  }
  if (!hasId) return { kind: 'noise' }
  const failed = message['error'] !== undefined && message['error'] !== null
  const error = failed ? (asObject(message['error']) ?? {}) : null
  return { kind: 'response', id, result: asObject(message['result']), error }
}

/** A fact of the conversation, from ACP's `session/update`. */
export type Update =
  | {
      readonly kind: 'text'
      readonly role: 'assistant' | 'reasoning'
      readonly text: string
      readonly messageId?: string
    }
  | { readonly kind: 'tool'; readonly call: ToolUpdate }
  /** The agent's whole to-do list, within its bounds and masked. */
  | { readonly kind: 'plan'; readonly plan: Plan }
  /** The agent stops to wait for an answer: its message so far is complete. */
  | { readonly kind: 'pause' }
  | { readonly kind: 'other' }

/**
 * The content of a `tool_call` or `tool_call_update`; absent fields keep their earlier values. Every field is within
 * its bound and masked, with two exceptions. The input is not, because no part of it is shown. Printed output is not,
 * because a secret may span pieces.
 */
export interface ToolUpdate {
  readonly id: string
  /** True if this may be the first update of its call; a `tool_call_update` never is. */
  readonly begins: boolean
  readonly name?: string
  readonly kind?: ToolKind
  readonly title?: string
  readonly status?: ToolCallStatus
  readonly input?: unknown
  readonly text?: string
  /** The next piece of a command's output. */
  readonly printed?: string
  /** The tool's result in its own form, as text; without text if it is too long. */
  readonly result?: { readonly text?: string; readonly truncated: boolean }
  readonly diffs?: readonly Diff[]
  /** Set if a delegated agent made the call. */
  readonly delegationId?: string
  /** True if the agent or a bound left something out. */
  readonly truncated: boolean
}

/** Reads the params of a `session/update` notification. Message chunks stay unmasked: a secret may span several. */
export function readUpdate(params: Json, redactor: Redactor = ownCredentials): Update {
  const update = asObject(params['update'])
  switch (update?.['sessionUpdate']) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk': {
      const text = contentText(update['content'])
      if (text === null) return { kind: 'other' }
      const role = update['sessionUpdate'] === 'agent_message_chunk' ? 'assistant' : 'reasoning'
      const messageId = asKey(update['messageId'])
      return messageId === undefined ? { kind: 'text', role, text } : { kind: 'text', role, text, messageId }
    }
    case 'tool_call':
    case 'tool_call_update':
      return readTool(update, update['sessionUpdate'] === 'tool_call', redactor)
    case 'plan':
      return readPlan(update['entries'], redactor)
    default:
      return { kind: 'other' }
  }
}

/** Returns the title that a `session/update` gives the conversation; null if it gives none. */
export function readTitle(params: Json, redactor: Redactor = ownCredentials): string | null {
  const update = asObject(params['update'])
  const title = update?.['sessionUpdate'] === 'session_info_update' ? asText(update['title']) : undefined
  return title === undefined || title.trim() === '' ? null : redactor.text(title)
}

/** Reads the call of a permission request; some agents announce a call only this way. */
export function readPermissionCall(params: Json, redactor: Redactor = ownCredentials): Update {
  const call = asObject(params['toolCall'])
  return call === null ? { kind: 'other' } : readTool(call, true, redactor)
}

/** Leaves out entries without a text. A status that ACP does not know counts as `pending`: the step is not done. */
function readPlan(listed: unknown, redactor: Redactor): Update {
  if (!Array.isArray(listed)) return { kind: 'other' }
  let truncated = listed.length > planLimits.entries
  const entries = listed.slice(0, planLimits.entries).flatMap((item: unknown) => {
    const entry = asObject(item)
    const given = asText(entry?.['content'])?.trim() ?? ''
    if (given === '') return []
    const content = cutMasked(redactor, given, planLimits.entryCharacters)
    truncated ||= content.truncated
    const status = planStatuses.find(known => known === entry?.['status']) ?? 'pending'
    const priority = planPriorities.find(known => known === entry?.['priority'])
    return [{ content: content.text, status, ...(priority !== undefined && { priority }) }]
  })
  return { kind: 'plan', plan: { entries, ...(truncated && { truncated }) } }
}

function readTool(update: Json, begins: boolean, redactor: Redactor): Update {
  const id = asKey(update['toolCallId'])
  if (id === undefined || id === '') return { kind: 'other' }
  const callText = readCallText(update)
  const isCut = berthMeta(update)['truncated'] === true
  const text = callText === null ? null : cutMasked(redactor, callText, MAX_TEXT_BYTES, isCut)
  const diffs = boundDiffs(contentOf(update).flatMap(readDiff), redactor)
  const input = boundInput(update['rawInput'] ?? undefined)
  const name = asIdentifier(update['name'])
  const title = asText(update['title'])
  const shownTitle = title === undefined ? null : cutMasked(redactor, title, MAX_TITLE_BYTES)
  const kind = toolKinds.find(known => known === update['kind'])
  const status = toolStatuses.find(known => known === update['status'])
  const delegationId = asText(berthMeta(update)['delegationId'])
  const printed = readPrinted(update)
  const result = update['rawOutput'] ?? null
  const cut = text?.truncated === true || diffs.truncated || input.truncated || shownTitle?.truncated === true
  return {
    kind: 'tool',
    call: {
      id,
      begins,
      ...(name !== undefined && { name }),
      ...(kind !== undefined && { kind }),
      ...(shownTitle !== null && { title: shownTitle.text }),
      ...(status !== undefined && { status }),
      ...(input.value !== undefined && { input: input.value }),
      ...(text !== null && { text: text.text }),
      ...(printed !== undefined && { printed }),
      ...(result !== null && { result: readResult(result, isCut, redactor) }),
      ...(diffs.diffs.length > 0 && { diffs: diffs.diffs }),
      ...(delegationId !== undefined && { delegationId: clip(redactor.text(delegationId), MAX_DELEGATION_ID) }),
      truncated: cut || isCut,
    },
  }
}

const contentOf = (call: Json): Json[] =>
  Array.isArray(call['content']) ? call['content'].map(asObject).filter(item => item !== null) : []

/** Returns the whole text in a tool call's content, however long; null if it has none. */
export function readCallText(call: Json): string | null {
  const texts = contentOf(call).filter(item => item['type'] === 'content')
  return texts.length === 0 ? null : texts.map(item => contentText(item['content']) ?? '').join('\n')
}

/**
 * Returns a command's output since the last update. ACP has no field for it if the agent runs the command itself;
 * agents send it in `_meta` under one of these names.
 */
function readPrinted(update: Json): string | undefined {
  const meta = asObject(update['_meta'])
  const chunk = asObject(meta?.['terminal_output_delta']) ?? asObject(meta?.['terminal_output'])
  return asText(chunk?.['data'])
}

/**
 * Returns a tool's result as text: the result itself, its `output`, or its JSON. A result that is too long is left out.
 */
function readResult(raw: unknown, isCut: boolean, redactor: Redactor): NonNullable<ToolUpdate['result']> {
  const output = asText(raw) ?? asText(asObject(raw)?.['output'])
  if (output !== undefined) return cutMasked(redactor, output, MAX_TEXT_BYTES, isCut)
  const { value, truncated } = boundInput(raw)
  return value === undefined ? { truncated } : { text: JSON.stringify(redactor.value(value)), truncated }
}

function readDiff(item: Json): Diff[] {
  const path = asText(item['path'])
  const newText = asText(item['newText'])
  if (item['type'] !== 'diff' || path === undefined || newText === undefined) return []
  return [{ path, oldText: asText(item['oldText']) ?? '', newText }]
}

/** Returns the `_meta.berth` member, in which any agent may send facts that ACP has no field for. */
export function berthMeta(holder: Json | null): Json {
  return asObject(asObject(holder?.['_meta'])?.['berth']) ?? {}
}

export function asObject(value: unknown): Json | null {
  return isObject(value) ? value : null
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? storable(value) : undefined
}

/**
 * Returns an agent's identifier, or undefined if it is none or too long. It is never cut: the rest would identify
 * something else.
 */
export function asIdentifier(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined || isOverlong(text) ? undefined : text
}

/** Returns an identifier that is only compared, never sent back: its digest stands for one that is too long. */
export function asKey(value: unknown): string | undefined {
  const text = asText(value)
  if (text === undefined || !isOverlong(text)) return text
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

/** Returns whether an identifier has more than `maxBytes` bytes of UTF-8. */
export function isOverlong(identifier: unknown, maxBytes: number = MAX_IDENTIFIER_BYTES): boolean {
  if (typeof identifier !== 'string') return false
  return identifier.length > maxBytes || Buffer.byteLength(identifier) > maxBytes
}

function parseObject(line: string): Json | null {
  // Most noise is plain text; avoid an exception for every line of it.
  if (!line.startsWith('{')) return null
  try {
    return asObject(JSON.parse(line))
  } catch {
    return null
  }
}

function contentText(content: unknown): string | null {
  const block = asObject(content)
  return block?.['type'] === 'text' ? (asText(block['text']) ?? null) : null
}

const toolStatuses: readonly ToolCallStatus[] = ['pending', 'in_progress', 'completed', 'failed']
