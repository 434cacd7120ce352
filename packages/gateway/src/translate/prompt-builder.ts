import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { isObject } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { speaksChat, type Target } from './target.ts'

export type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart
type Assistant = Extract<LanguageModelV4Message, { role: 'assistant' }>
type AssistantPart = Assistant['content'][number]
type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>

type Turn =
  | { readonly role: 'system'; readonly content: string; readonly providerOptions?: SharedV4ProviderOptions }
  | { readonly role: 'user'; readonly content: UserPart[] }
  | { readonly role: 'assistant'; readonly content: AssistantPart[] }

/** A mark for the provider's cache, on the object that it spreads into. */
type Mark = { providerOptions?: SharedV4ProviderOptions }

interface Call {
  readonly name: string
  readonly param: string
  output?: LanguageModelV4ToolResultOutput
  mark?: Mark | undefined
}

/**
 * Puts a conversation into the order that every provider accepts. The assistant's words of one turn form one message.
 * The results of all its calls form one message right after it, wherever the request had them. Providers refuse a call
 * without a result, a result without a call, and a turn that ends in reasoning.
 */
export class PromptBuilder {
  readonly #target: Target
  readonly #turns: Turn[] = []
  readonly #calls = new Map<string, Call>()
  /** Provider metadata of calls, which may come before or after its call. */
  readonly #callMetadata = new Map<string, SharedV4ProviderMetadata>()
  /** The assistant turn that takes further words; undefined after anything else. */
  #open: AssistantPart[] | undefined

  constructor(target: Target) {
    this.#target = target
  }

  system(content: string, mark?: Mark): void {
    this.#open = undefined
    this.#turns.push({ role: 'system', content, ...mark })
  }

  user(content: readonly UserPart[]): void {
    this.#open = undefined
    const parts = content.filter(part => part.type !== 'text' || part.text !== '')
    this.#turns.push({ role: 'user', content: parts.length === 0 ? content.slice(0, 1) : parts })
  }

  text(text: string): void {
    if (text !== '') this.#assistant().push({ type: 'text', text })
  }

  reasoning(text: string, metadata: SharedV4ProviderMetadata | undefined): void {
    this.#assistant().push({ type: 'reasoning', text, ...(metadata && { providerOptions: metadata }) })
  }

  /** Attaches provider metadata to the last text, or to an empty text if there is none. */
  textMetadata(metadata: SharedV4ProviderMetadata): void {
    const content = this.#assistant()
    const last = content.at(-1)
    const text = last?.type === 'text' ? last.text : ''
    if (last?.type === 'text') content.pop()
    content.push({ type: 'text', text, providerOptions: metadata })
  }

  callMetadata(callId: string, metadata: SharedV4ProviderMetadata): void {
    this.#callMetadata.set(callId, metadata)
  }

  /** @param args JSON text, as the model wrote it */
  call(callId: string, name: string, args: string, param: string): void {
    if (this.#calls.has(callId)) throw refuse(param, `Two calls have the id ${callId}.`)
    this.#calls.set(callId, { name, param })
    this.#assistant().push({ type: 'tool-call', toolCallId: callId, toolName: name, input: readArguments(args) })
  }

  result(callId: string, output: LanguageModelV4ToolResultOutput, param: string, mark?: Mark): void {
    const call = this.#calls.get(callId)
    if (call === undefined) throw refuse(param, `No call before this output has the id ${callId}.`)
    if (call.output !== undefined) throw refuse(param, `The call ${callId} has two outputs.`)
    call.output = output
    call.mark = mark
    this.#open = undefined
  }

  /** @param param names the conversation in error messages */
  build(param: string): LanguageModelV4Prompt {
    const prompt: LanguageModelV4Prompt = []
    const hoisted = speaksChat(this.#target.model) ? [] : this.#turns.filter(turn => turn.role === 'system')
    prompt.push(...hoisted)
    for (const turn of this.#turns) {
      if (turn.role === 'assistant') this.#pushAssistant(turn.content, prompt)
      else if (turn.role === 'user' || hoisted.length === 0) prompt.push(turn)
    }
    if (prompt.length === hoisted.length) throw refuse(param, `${param} holds nothing for the model to answer.`)
    return prompt
  }

  #assistant(): AssistantPart[] {
    if (this.#open === undefined) {
      this.#open = []
      this.#turns.push({ role: 'assistant', content: this.#open })
    }
    return this.#open
  }

  #pushAssistant(parts: readonly AssistantPart[], prompt: LanguageModelV4Prompt): void {
    const content = parts.slice(0, parts.findLastIndex(part => part.type !== 'reasoning') + 1)
    if (content.length === 0) return
    const results: ToolMessage['content'] = []
    const files: UserPart[] = []
    for (const [at, part] of content.entries()) {
      if (part.type !== 'tool-call') continue
      const metadata = this.#callMetadata.get(part.toolCallId)
      if (metadata !== undefined) content[at] = { ...part, providerOptions: metadata }
      const { name, param, output, mark } = this.#calls.get(part.toolCallId) as Call
      if (output === undefined) throw refuse(param, `The call ${part.toolCallId} has no output.`)
      const taken = speaksChat(this.#target.model) ? textOnly(output, files) : output
      results.push({ type: 'tool-result', toolCallId: part.toolCallId, toolName: name, output: taken, ...mark })
    }
    prompt.push({ role: 'assistant', content })
    if (results.length > 0) prompt.push({ role: 'tool', content: results })
    if (files.length > 0) prompt.push({ role: 'user', content: files })
  }
}

/**
 * Reduces a tool's output to text, because Chat Completions tool messages hold only text. Files follow in a user
 * message.
 */
function textOnly(output: LanguageModelV4ToolResultOutput, files: UserPart[]): LanguageModelV4ToolResultOutput {
  if (output.type !== 'content') return output
  const texts: string[] = []
  for (const part of output.value) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'file') files.push(part)
  }
  if (texts.length === 0 && files.length > 0) texts.push('The content of this output follows.')
  return { type: 'text', value: texts.join('\n') }
}

/** Parses a call's arguments. Cut or malformed arguments go back to the model as it wrote them. */
function readArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : { arguments: value }
  } catch {
    return { arguments: text }
  }
}
