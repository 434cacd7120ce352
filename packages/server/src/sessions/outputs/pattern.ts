import { outputLimits } from '@berth/contract'

/** Characters as a set: those of ASCII one by one, and all others together as the last. */
type Characters = ReadonlySet<number>

const OTHERS = 128
const all: Characters = new Set(Array.from({ length: OTHERS + 1 }, (_, code) => code))

/** A part of a pattern: the characters that it can match, whether it repeats, and whether it can match nothing. */
interface Part {
  readonly characters: Characters
  /** How often it is matched, at most. */
  readonly most: number
  readonly optional: boolean
  /** Set if matching it can be tried in more than one way. */
  readonly varies: boolean
}

class Refused extends Error {}

/**
 * Returns why a regular expression could take exponential time on some text; null if it cannot.
 *
 * Refuses a repeated group that itself repeats something or offers alternatives, unless each round of it begins with a
 * character that nothing else in the group matches, as in `[a-z]+(-[a-z]+)*`. It also refuses references back and
 * looking around. The pattern must be valid in ECMAScript with the flag `u`.
 */
export function unsafePattern(pattern: string): string | null {
  if (Array.from(pattern).length > outputLimits.patternCharacters) {
    return `is longer than ${outputLimits.patternCharacters} characters; shorten it`
  }
  try {
    new RegExp(pattern, 'u')
  } catch {
    return 'is not a regular expression of ECMAScript with the flag `u`'
  }
  try {
    new Reader(pattern).alternatives()
    return null
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

/** Reads a valid pattern once, from left to right. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** @returns the parts of each alternative */
  alternatives(): readonly (readonly Part[])[] {
    let parts: Part[] = []
    const found = [parts]
    for (;;) {
      const next = this.#text[this.#at]
      if (next === undefined || next === ')') break
      if (next === '|') {
        this.#at += 1
        parts = []
        found.push(parts)
      } else {
        const part = this.#part()
        if (part !== null) parts.push(part)
      }
    }
    for (const each of found) refuseChains(each)
    return found
  }

  /** @returns null for an assertion that matches no character */
  #part(): Part | null {
    const next = this.#text[this.#at] ?? ''
    if (next === '^' || next === '$' || this.#sees('\\b') || this.#sees('\\B')) {
      this.#at += next === '\\' ? 2 : 1
      return null
    }
    if (next === '(') return this.#group()
    const characters = next === '[' ? this.#class() : next === '.' ? this.#any() : this.#character()
    const { least, most } = this.#quantifier()
    return { characters, most, optional: least === 0, varies: least !== most }
  }

  #group(): Part {
    const opening = /^\((?:\?:|\?<[^=!>]+>)?/.exec(this.#text.slice(this.#at))?.[0] ?? '('
    if (opening === '(' && this.#text[this.#at + 1] === '?') {
      throw new Refused('looks ahead or behind, which no pattern may; describe the text itself')
    }
    this.#at += opening.length
    const alternatives = this.alternatives()
    this.#at += 1
    const { least, most } = this.#quantifier()
    const parts = alternatives.flat()
    const inner = alternatives.length > 1 || parts.some(part => part.varies)
    if (most > 1 && inner && !(alternatives.length === 1 && isDelimited(parts))) {
      throw new Refused(
        'repeats a group that repeats or has alternatives, which can take for ever; begin the group with a character that the rest of it does not match, or repeat a class of characters such as [a-z]',
      )
    }
    return {
      characters: union(parts.map(part => part.characters)),
      most: most * Math.max(1, ...parts.map(part => part.most)),
      optional: least === 0 || alternatives.some(each => each.every(part => part.optional)),
      varies: inner || least !== most,
    }
  }

  #quantifier(): { readonly least: number; readonly most: number } {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(this.#text.slice(this.#at))
    if (found === null) return { least: 1, most: 1 }
    this.#at += found[0].length
    const [, sign, least, comma, most] = found
    if (sign !== undefined) return { least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    if (comma === '') return { least: Number(least), most: Number(least) }
    return { least: Number(least), most: most === '' ? Number.POSITIVE_INFINITY : Number(most) }
  }

  #any(): Characters {
    this.#at += 1
    return all
  }

  /** A class is asked what it matches, since its syntax is larger than this reader's. */
  #class(): Characters {
    const start = this.#at
    for (this.#at += 1; this.#text[this.#at] !== ']'; this.#at += 1) {
      if (this.#text[this.#at] === '\\') this.#at += 1
    }
    this.#at += 1
    return matchedBy(this.#text.slice(start, this.#at))
  }

  #character(): Characters {
    const escaped = /^\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<|[\s\S])/u.exec(
      this.#text.slice(this.#at),
    )?.[0]
    if (escaped !== undefined && (/^\\[1-9]/.test(escaped) || escaped === '\\k<')) {
      throw new Refused('refers back to what it matched, which no pattern may; spell the text out')
    }
    const source = escaped ?? String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0)
    this.#at += source.length
    return matchedBy(source)
  }

  #sees(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }
}

/** Repetitions of the same characters side by side: a text of n characters is divided among k of them in n^k ways. */
const CHAIN_MOST = 3

/** Refuses many repetitions between which a text could be divided, with nothing between them that tells them apart. */
function refuseChains(parts: readonly Part[]): void {
  let chain: Part[] = []
  for (const part of parts) {
    if (!part.varies && !part.optional && !chain.some(each => overlaps(each.characters, part.characters))) chain = []
    if (!part.varies || part.most <= 1) continue
    chain = [...chain, part]
    if (chain.filter(each => overlaps(each.characters, part.characters)).length > CHAIN_MOST) {
      throw new Refused(
        `repeats the same characters more than ${CHAIN_MOST} times side by side, which can take for ever; put a character between them that they do not match`,
      )
    }
  }
}

/** True if the first part is one character that no later part matches: then a text can be divided in one way only. */
function isDelimited([first, ...rest]: readonly Part[]): boolean {
  if (first === undefined || first.optional || first.most !== 1 || first.varies) return false
  if (rest.some(part => part.characters.size > 0 && overlaps(part.characters, first.characters))) return false
  return rest.filter(part => part.varies).length <= 1
}

function matchedBy(source: string): Characters {
  const expression = new RegExp(`^${source}$`, 'u')
  const matched = new Set<number>()
  for (let code = 0; code < OTHERS; code += 1) if (expression.test(String.fromCharCode(code))) matched.add(code)
  // A few stand for all that is not ASCII; a part that is not ASCII itself matches "others" in any case.
  if (['é', 'я', '中', '😀'].some(other => expression.test(other)) || /[^\0-\x7f]|\\[upP]/.test(source)) {
    matched.add(OTHERS)
  }
  return matched
}

const union = (sets: readonly Characters[]): Characters => new Set(sets.flatMap(set => [...set]))

const overlaps = (a: Characters, b: Characters): boolean => [...a].some(code => b.has(code))
