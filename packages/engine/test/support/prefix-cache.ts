import { asObject, isObject, type Json } from '../../src/json.ts'

/** Tokens of one request, as Anthropic reports them. */
export interface CachedUsage {
  readonly input_tokens: number
  readonly cache_read_input_tokens: number
  readonly cache_creation_input_tokens: number
}

const charactersOfToken = 4
const leastTokens = 1024
/** Anthropic looks this many parts back from each mark. */
const partsBack = 20

/**
 * Anthropic's cache of prefixes, as it documents it: it keeps each prefix that a mark ends, and reads the longest that it
 * knows of those that end at a mark or up to twenty parts before one. What follows that, up to the last mark, is written.
 */
export class PrefixCache {
  readonly #known = new Set<string>()

  take(body: unknown): CachedUsage {
    const parts = partsOf(asObject(body))
    const ends: { readonly prefix: string; readonly tokens: number; readonly isMarked: boolean }[] = []
    let prefix = ''
    for (const { cache_control: control, ...part } of parts) {
      prefix += JSON.stringify(part)
      ends.push({ prefix, tokens: Math.ceil(prefix.length / charactersOfToken), isMarked: control !== undefined })
    }
    const marks = ends.flatMap(({ isMarked, tokens }, index) => (isMarked && tokens >= leastTokens ? [index] : []))
    if (ends.filter(({ isMarked }) => isMarked).length > 4) throw new Error('A request has more than four marks.')
    const reachable = marks.flatMap(mark => ends.slice(Math.max(0, mark - partsBack), mark + 1))
    const read = Math.max(0, ...reachable.filter(end => this.#known.has(end.prefix)).map(({ tokens }) => tokens))
    const last = ends[marks.at(-1) ?? -1]?.tokens ?? 0
    for (const mark of marks) this.#known.add(ends[mark]?.prefix ?? '')
    return {
      input_tokens: (ends.at(-1)?.tokens ?? 0) - Math.max(last, read),
      cache_read_input_tokens: read,
      cache_creation_input_tokens: Math.max(0, last - read),
    }
  }
}

/** The parts of a request in the order in which they make a prefix. */
function partsOf({ tools, system, messages }: Json): Json[] {
  const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : [])
  return [
    ...list(tools),
    ...list(system),
    ...list(messages).flatMap(({ role, content }) => list(content).map(part => ({ role, ...part }))),
  ]
}
