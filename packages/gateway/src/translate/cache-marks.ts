import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ResolvedModel } from '@berth/core/accounting/upstream.ts'
import { asObject, isObject, type Json } from '@berth/platform/kit/json.ts'

/** A tool, a system text, or a part of a message of the user side: what Anthropic lets carry a mark. */
interface Holder {
  providerOptions?: SharedV4ProviderOptions
}

/** Anthropic refuses more. */
const mostMarks = 4
const charactersOfToken = 4

/** Models cache no shorter prefix. To mark one does no harm, but says what will not happen. */
const leastTokens = (model: string) => (/haiku|opus/i.test(model) ? 4096 : 1024)

/**
 * Returns the cache mark that a client put on an object of its request, in the form of Anthropic's package: as Anthropic
 * writes it, or as OpenAI does. Texts that become one take the mark of any.
 */
export function markOf(object: Json): Holder | undefined {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint, content } = object
  const isMarked = (isObject(control) && control['type'] === 'ephemeral') || isObject(breakpoint)
  if (!isMarked) return Array.isArray(content) ? content.filter(isObject).map(markOf).find(Boolean) : undefined
  const ttl = asObject(control)['ttl']
  return { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ...(ttl === '1h' && { ttl }) } } } }
}

/**
 * Lets Anthropic cache the prefix of a conversation: it reads from its cache what was marked before and has not changed.
 * Marks stand after tools and system texts, and after each of the last two messages of the user side. They are left to the
 * client if it marks anything, and left out if it wants no cache. Of too many, the last ones stay: they reach furthest.
 */
export function markCache(
  { prompt, tools: given = [] }: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools'>,
  body: Json,
  { kind, model }: ResolvedModel,
): void {
  if (kind !== 'anthropic') return
  const tools = given.filter(tool => tool.type === 'function')
  const own = [...tools, ...prompt.flatMap(holdersIn)].filter(isMarked)
  for (const holder of own.slice(0, -mostMarks)) delete holder.providerOptions?.['anthropic']
  const isExplicit = asObject(body['prompt_cache_options'])['mode'] === 'explicit'
  if (own.length > 0 || isExplicit || body['prompt_cache_retention'] === 'none') return
  for (const holder of defaultPlaces(prompt, tools, leastTokens(model) * charactersOfToken)) {
    holder.providerOptions = { ...holder.providerOptions, ...markOf({ prompt_cache_breakpoint: {} })?.providerOptions }
  }
}

const isMarked = ({ providerOptions }: Holder) => providerOptions?.['anthropic']?.['cacheControl'] !== undefined

function holdersIn(message: LanguageModelV4Message): readonly Holder[] {
  if (message.role === 'system') return [message]
  return message.role === 'assistant' ? [] : message.content.filter(part => part.type !== 'text' || part.text !== '')
}

/** Returns the places of marks whose prefix has at least so many characters, in their order. */
function defaultPlaces(
  prompt: LanguageModelV4CallOptions['prompt'],
  tools: readonly (Holder & object)[],
  leastCharacters: number,
): readonly Holder[] {
  let characters = 0
  const pass = (value: unknown) => {
    if (characters < leastCharacters) characters += JSON.stringify(value).length
  }
  tools.forEach(pass)
  const first: Holder[] = characters < leastCharacters ? [] : tools.slice(-1)
  const later: Holder[] = []
  for (const [at, message] of prompt.entries()) {
    pass(message.content)
    const place = holdersIn(message).at(-1)
    if (place === undefined || characters < leastCharacters) continue
    // Results of tools and the words after them are one message to Anthropic.
    const goesOn = message.role === 'tool' && prompt[at + 1]?.role === 'user'
    if (message.role === 'system') first.push(place)
    else if (!goesOn) later.push(place)
  }
  return [...first.slice(-1), ...later.slice(-2)]
}
