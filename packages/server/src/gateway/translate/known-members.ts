import type { Json } from '../../kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import type { TranslatedWire } from '../providers/upstream.ts'

type Members = ReadonlySet<string>

const set = (...names: string[]): Members => new Set(names)
const byName = (members: Readonly<Record<string, Members>>): ReadonlyMap<unknown, Members> =>
  new Map(Object.entries(members))

const cached = 'prompt_cache_breakpoint'
const audio = set('data', 'format')

/**
 * Members of a Chat Completions message by role. As in all sets below, they are the members that OpenAI documents, that
 * the gateway's answers carry, and that OpenAI's library adds. Clients send an answer back with all of these.
 */
export const chatMessages = byName({
  system: set('role', 'content', 'name'),
  developer: set('role', 'content', 'name'),
  user: set('role', 'content', 'name'),
  assistant: set(
    ...['role', 'content', 'name', 'audio', 'function_call', 'refusal', 'tool_calls'],
    ...['annotations', 'reasoning_content', 'parsed'],
  ),
  tool: set('role', 'content', 'tool_call_id'),
})

/** Members of a call in `tool_calls`; `index` occurs in streams. */
export const chatCall = set('id', 'type', 'function', 'extra_content', 'index')
export const chatCalled = set('name', 'arguments', 'parsed_arguments')

/** Members of a Chat Completions content part by type, and (`chatHeld`) of the object inside it. */
export const chatParts = byName({
  text: set('type', 'text', cached),
  refusal: set('type', 'refusal'),
  image_url: set('type', 'image_url', cached),
  input_audio: set('type', 'input_audio', cached),
  file: set('type', 'file', cached),
})
export const chatHeld = byName({
  image_url: set('url', 'detail'),
  input_audio: audio,
  file: set('file_data', 'file_id', 'filename'),
})

/** Members of a Responses input item by type. */
export const responsesItems = byName({
  message: set('type', 'role', 'content', 'id', 'status', 'phase'),
  function_call: set(
    ...['type', 'id', 'call_id', 'name', 'arguments', 'status'],
    ...['async', 'caller', 'namespace', 'created_by', 'parsed_arguments'],
  ),
  function_call_output: set(
    ...['type', 'id', 'call_id', 'output', 'status'],
    ...['caller', 'name', 'namespace', 'created_by'],
  ),
  reasoning: set('type', 'id', 'summary', 'content', 'encrypted_content', 'status'),
})

/** Members of a Responses content part by type, and (`responsesHeld`) of the object inside it. */
export const responsesParts = byName({
  input_text: set('type', 'text', cached),
  output_text: set('type', 'text', 'annotations', 'logprobs', 'parsed'),
  text: set('type', 'text'),
  refusal: set('type', 'refusal'),
  input_image: set('type', 'image_url', 'file_id', 'detail', cached),
  input_file: set('type', 'file_data', 'file_id', 'file_url', 'filename', 'detail', cached),
  input_audio: set('type', 'input_audio', cached),
})
export const responsesHeld = byName({ input_audio: audio })

const functionMembers = ['name', 'description', 'parameters', 'strict']

/** Members of a function tool. Chat Completions nests the rest under `function`. */
export const tools: Readonly<Record<TranslatedWire, Members>> = {
  chat: set('type', 'function'),
  responses: set('type', ...functionMembers, 'allowed_callers', 'async', 'defer_loading', 'output_schema'),
}
export const chatFunction = set(...functionMembers)

const maxNameCharacters = 100

/**
 * Refuses an undocumented member, which would not reach the provider. If the object's role or type is unknown (`known`
 * is undefined), the reader of the object refuses it.
 * @param param path of the object in the request
 * @throws UpstreamError 400 that names the member
 */
export function refuseUnknown(value: Json, param: string, known: Members | undefined): void {
  if (known === undefined) return
  const unknown = Object.keys(value).find(name => !known.has(name))
  if (unknown === undefined) return
  const path = `${param}.${unknown.slice(0, maxNameCharacters)}`
  throw refuse(path, `${path} is not documented and would not reach this model: leave it out.`)
}

/** Applies `refuseUnknown` to a content part and to the object under the name of its type. */
export function refuseUnknownInPart(
  part: Json,
  param: string,
  parts: ReadonlyMap<unknown, Members>,
  held: ReadonlyMap<unknown, Members>,
): void {
  const type = part['type']
  refuseUnknown(part, param, parts.get(type))
  const inner = typeof type === 'string' ? part[type] : undefined
  if (typeof type === 'string' && typeof inner === 'object' && inner !== null) {
    refuseUnknown(inner as Json, `${param}.${type}`, held.get(type))
  }
}
