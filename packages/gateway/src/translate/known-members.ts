import { ignoredMembers } from '@berth/contract'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'

type Members = ReadonlySet<string>

const set = (...names: string[]): Members => new Set(names)
const byName = (members: Readonly<Record<string, Members>>): ReadonlyMap<unknown, Members> =>
  new Map(Object.entries(members))

const audio = set('data', 'format')

/**
 * Members of a Chat Completions message by role. As in all sets below, they are the members that OpenAI documents, which
 * the readers take or refuse by themselves. Members that ask nothing of a model may stand anywhere.
 */
export const chatMessages = byName({
  system: set('content'),
  developer: set('content'),
  user: set('content'),
  assistant: set('content', 'audio', 'function_call', 'refusal', 'tool_calls'),
  tool: set('content', 'tool_call_id'),
})

/** Members of a call in `tool_calls`. */
export const chatCall = set('id', 'type', 'function')
export const chatCalled = set('name', 'arguments')

/** Members of a Chat Completions content part by type, and (`chatHeld`) of the object inside it. */
export const chatParts = byName({
  // The Agents SDK repeats the calls of a message in its text.
  text: set('text', 'tool_calls'),
  refusal: set('refusal'),
  image_url: set('image_url'),
  input_audio: set('input_audio'),
  file: set('file'),
})
export const chatHeld = byName({
  image_url: set('url', 'detail'),
  input_audio: audio,
  file: set('file_data', 'file_id', 'filename'),
})

/** Members of a Responses input item by type. */
export const responsesItems = byName({
  message: set('content'),
  function_call: set('call_id', 'name', 'arguments', 'async', 'caller', 'namespace', 'created_by'),
  function_call_output: set('call_id', 'output', 'caller', 'namespace', 'created_by'),
  reasoning: set('summary', 'content', 'encrypted_content'),
})

/** Members of a Responses content part by type, and (`responsesHeld`) of the object inside it. */
export const responsesParts = byName({
  input_text: set('text'),
  output_text: set('text'),
  text: set('text'),
  refusal: set('refusal'),
  input_image: set('image_url', 'file_id', 'detail'),
  input_file: set('file_data', 'file_id', 'file_url', 'filename', 'detail'),
  input_audio: set('input_audio'),
})
export const responsesHeld = byName({ input_audio: audio })

const functionMembers = ['name', 'description', 'parameters', 'strict']

/** Members of a function tool. Chat Completions nests the rest under `function`. */
export const tools: Readonly<Record<TranslatedWire, Members>> = {
  chat: set('function'),
  responses: set(...functionMembers, 'allowed_callers', 'async', 'defer_loading', 'output_schema'),
}
export const chatFunction = set(...functionMembers)

const asksNothing: Members = set(...ignoredMembers)

/** Returns whether a value asks nothing, whatever the name of its member. */
const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0)

const maxNameCharacters = 100

/**
 * Refuses an unknown member, which would not reach the provider, unless it asks nothing of a model. If the object's role
 * or type is unknown (`known` is undefined), the reader of the object refuses it.
 * @param param path of the object in the request
 * @throws UpstreamError 400 that names the member
 */
export function refuseUnknown(value: Json, param: string, known: Members | undefined): void {
  if (known === undefined) return
  const unknown = Object.keys(value).find(name => !(known.has(name) || asksNothing.has(name) || isEmpty(value[name])))
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
  const inner = typeof type === 'string' && Object.hasOwn(part, type) ? part[type] : undefined
  if (typeof type === 'string' && typeof inner === 'object' && inner !== null) {
    refuseUnknown(inner as Json, `${param}.${type}`, held.get(type))
  }
}
