import type { ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk'
import { toolKinds } from '@berth/contract'
import { ownCredentials, type Redactor } from '../../kit/redactor.ts'
import { cutMasked, MAX_TEXT_BYTES, storable } from '../../sessions/log/bounded-text.ts'
import { boundDiffs, boundInput, type Diff } from './bounded-activity.ts'
import { clip } from './clip.ts'

type Json = Readonly<Record<string, unknown>>

/** Longest identifier of an agent's that is taken, in bytes of UTF-8: of a session, a tool call, an option, a request. */
export const MAX_IDENTIFIER_BYTES = 1024
/** Longest `delegationId` (interface 6.4). */
const MAX_DELEGATION_ID = 255
const MAX_TITLE_BYTES = 1024

/** A line of an agent, told apart; whatever is not JSON-RPC is `noise`. */
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
 * Reads one line of an agent. Agents are not trusted: nothing here throws, and a shape that ACP does not know is
 * noise rather than an error, so that one bad line cannot end a Run.
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

/** A fact of the conversation, as ACP's `session/update` tells it. */
export type Update =
  | {
      readonly kind: 'text'
      readonly role: 'assistant' | 'reasoning'
      readonly text: string
      readonly messageId?: string
    }
  | { readonly kind: 'tool'; readonly call: ToolUpdate }
  /** The agent stops to be answered: what it was saying is said. */
  | { readonly kind: 'pause' }
  | { readonly kind: 'other' }

/**
 * What a `tool_call` or `tool_call_update` says; absent fields leave what is known. Everything is within its bound, and
 * masked but for the input, of which a part is never shown, and for what is printed, where a secret may lie across pieces.
 */
export interface ToolUpdate {
  readonly id: string
  /** Whether this may be the first that is heard of the call; an update alone never is. */
  readonly begins: boolean
  readonly name?: string
  readonly kind?: ToolKind
  readonly title?: string
  readonly status?: ToolCallStatus
  readonly input?: unknown
  readonly text?: string
  /** The next piece of what a command prints. */
  readonly printed?: string
  /** The tool's result in its own form, as text; without one if it is too long. */
  readonly result?: { readonly text?: string; readonly truncated: boolean }
  readonly diffs?: readonly Diff[]
  /** Set where a delegated agent made the call (interface 6.4). */
  readonly delegationId?: string
  /** Whether something was left out, by the agent or for its size. */
  readonly truncated: boolean
}

/**
 * Reads the params of a `session/update` notification. Chunks of a message are left as they are: a secret may lie across
 * several.
 */
export function readUpdate(params: Json, redactor: Redactor = ownCredentials): Update {
  const update = asObject(params['update'])
  switch (update?.['sessionUpdate']) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk': {
      const text = contentText(update['content'])
      if (text === null) return { kind: 'other' }
      const role = update['sessionUpdate'] === 'agent_message_chunk' ? 'assistant' : 'reasoning'
      const messageId = asIdentifier(update['messageId'])
      return messageId === undefined ? { kind: 'text', role, text } : { kind: 'text', role, text, messageId }
    }
    case 'tool_call':
    case 'tool_call_update':
      return readTool(update, update['sessionUpdate'] === 'tool_call', redactor)
    default:
      return { kind: 'other' }
  }
}

/** The call that a permission is asked for; some agents announce a call by nothing else. */
export function readPermissionCall(params: Json, redactor: Redactor = ownCredentials): Update {
  const call = asObject(params['toolCall'])
  return call === null ? { kind: 'other' } : readTool(call, true, redactor)
}

function readTool(update: Json, begins: boolean, redactor: Redactor): Update {
  const id = asIdentifier(update['toolCallId'])
  if (id === undefined || id === '') return { kind: 'other' }
  const said = readCallText(update)
  const isCut = berthMeta(update)['truncated'] === true
  const text = said === null ? null : cutMasked(redactor, said, MAX_TEXT_BYTES, isCut)
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

/** The whole text among a tool call's content, however long; null where it has none. */
export function readCallText(call: Json): string | null {
  const texts = contentOf(call).filter(item => item['type'] === 'content')
  return texts.length === 0 ? null : texts.map(item => contentText(item['content']) ?? '').join('\n')
}

/**
 * What a command printed since the last update. ACP has no word for it where the agent runs the command itself; agents
 * send it in `_meta`, under one of these names.
 */
function readPrinted(update: Json): string | undefined {
  const meta = asObject(update['_meta'])
  const chunk = asObject(meta?.['terminal_output_delta']) ?? asObject(meta?.['terminal_output'])
  return asText(chunk?.['data'])
}

/** A tool's result as text: its own, or that of its `output`, or JSON. One that is too long is left out. */
function readResult(raw: unknown, isCut: boolean, redactor: Redactor): NonNullable<ToolUpdate['result']> {
  const said = asText(raw) ?? asText(asObject(raw)?.['output'])
  if (said !== undefined) return cutMasked(redactor, said, MAX_TEXT_BYTES, isCut)
  const { value, truncated } = boundInput(raw)
  return value === undefined ? { truncated } : { text: JSON.stringify(redactor.value(value)), truncated }
}

function readDiff(item: Json): Diff[] {
  const path = asText(item['path'])
  const newText = asText(item['newText'])
  if (item['type'] !== 'diff' || path === undefined || newText === undefined) return []
  return [{ path, oldText: asText(item['oldText']) ?? '', newText }]
}

/** The `_meta.berth` member by which any agent may tell more than ACP has words for. */
export function berthMeta(holder: Json | null): Json {
  return asObject(asObject(holder?.['_meta'])?.['berth']) ?? {}
}

export function asObject(value: unknown): Json | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : null
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? storable(value) : undefined
}

/**
 * An identifier as an agent gave it; undefined where it is none or is too long. It is never cut: what is left would
 * identify something else.
 */
export function asIdentifier(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined || isOverlong(text) ? undefined : text
}

export function isOverlong(identifier: unknown): boolean {
  if (typeof identifier !== 'string') return false
  return identifier.length > MAX_IDENTIFIER_BYTES || Buffer.byteLength(identifier) > MAX_IDENTIFIER_BYTES
}

function parseObject(line: string): Json | null {
  // Most noise is plain text; do not pay for an exception on every line of it.
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
