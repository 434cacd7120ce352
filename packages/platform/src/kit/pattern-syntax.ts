import { RE2JS } from 're2js'

/** Most steps that a pattern may hold, counting a repeated part as often as it may be matched. */
const MOST_STEPS = 1_000

/** Why a pattern cannot be matched in linear time. The message continues a sentence that begins with the pattern. */
export class PatternRefused extends Error {}

/** A pattern in RE2's syntax. */
export interface LinearSyntax {
  readonly source: string
  /** Steps of its program: matching takes at most this many for each character of a text. */
  readonly steps: number
}

/** What `\s` matches in ECMAScript; RE2's matches blanks of ASCII alone. */
const blanks = [
  ...['\\x{9}-\\x{d}', '\\x{20}', '\\x{a0}', '\\x{1680}', '\\x{2000}-\\x{200a}', '\\x{2028}-\\x{2029}'],
  ...['\\x{202f}', '\\x{205f}', '\\x{3000}', '\\x{feff}'],
].join('')
const noBlanks = [
  ...['\\x{0}-\\x{8}', '\\x{e}-\\x{1f}', '\\x{21}-\\x{9f}', '\\x{a1}-\\x{167f}', '\\x{1681}-\\x{1fff}'],
  ...['\\x{200b}-\\x{2027}', '\\x{202a}-\\x{202e}', '\\x{2030}-\\x{205e}', '\\x{2060}-\\x{2fff}'],
  ...['\\x{3001}-\\x{fefe}', '\\x{ff00}-\\x{10ffff}'],
].join('')
const anyButLineEnds = '[^\\x{a}\\x{d}\\x{2028}\\x{2029}]'
const any = '[\\x{0}-\\x{10ffff}]'
const nothing = '[^\\x{0}-\\x{10ffff}]'

const controls: ReadonlyMap<string, number> = new Map([
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
  ['0', 0],
])

/** General categories whose long names RE2 does not know. */
const categories: ReadonlyMap<string, string> = new Map([
  ['Letter', 'L'],
  ['Uppercase_Letter', 'Lu'],
  ['Lowercase_Letter', 'Ll'],
  ['Titlecase_Letter', 'Lt'],
  ['Modifier_Letter', 'Lm'],
  ['Other_Letter', 'Lo'],
  ['Mark', 'M'],
  ['Nonspacing_Mark', 'Mn'],
  ['Number', 'N'],
  ['Decimal_Number', 'Nd'],
  ['Letter_Number', 'Nl'],
  ['Other_Number', 'No'],
  ['Punctuation', 'P'],
  ['Symbol', 'S'],
  ['Math_Symbol', 'Sm'],
  ['Currency_Symbol', 'Sc'],
  ['Separator', 'Z'],
  ['Space_Separator', 'Zs'],
  ['Control', 'Cc'],
])

/**
 * Translates a regular expression of ECMAScript with the flag `u` to RE2's syntax. The translation matches the same
 * texts; groups capture nothing in it. It takes time linear in the pattern.
 * @throws PatternRefused for a pattern that is invalid, too large, looks around, refers back, or sets flags
 */
export function toLinearSyntax(pattern: string): LinearSyntax {
  try {
    new RegExp(pattern, 'u')
  } catch {
    throw new PatternRefused('is not a regular expression of ECMAScript with the flag `u`')
  }
  const { source, steps } = new Reader(pattern).alternatives()
  return { source, steps }
}

/** Reads a valid pattern once, from left to right. */
class Reader {
  readonly #characters: readonly string[]
  #at = 0

  constructor(pattern: string) {
    this.#characters = Array.from(pattern)
  }

  /** Reads up to the end of the pattern, or of the group. */
  alternatives(): LinearSyntax {
    let source = ''
    let steps = 0
    for (let next = this.#peek(); next !== undefined && next !== ')'; next = this.#peek()) {
      if (next === '|') {
        source += this.#take()
        steps += 1
        continue
      }
      const part = this.#repeated(this.#part())
      source += part.source
      steps += part.steps
      if (steps > MOST_STEPS) {
        throw new PatternRefused(
          `has more than ${MOST_STEPS} steps, counting each repetition; repeat less, or use * or +`,
        )
      }
    }
    // Also an empty group is repeated step by step.
    return { source, steps: Math.max(1, steps) }
  }

  #part(): LinearSyntax {
    const next = this.#take()
    if (next === '(') return this.#group()
    return { source: this.#one(next), steps: 1 }
  }

  #one(next: string): string {
    switch (next) {
      case '^':
      case '$':
        return next
      case '.':
        return anyButLineEnds
      case '[':
        return this.#class()
      case '\\':
        return this.#escape()
      default:
        return literal(codeOf(next))
    }
  }

  #group(): LinearSyntax {
    if (this.#peek() === '?') {
      this.#take()
      const kind = this.#take()
      const behind = kind === '<' && ['=', '!'].includes(this.#peek() ?? '')
      if (kind === '=' || kind === '!' || behind) {
        throw new PatternRefused('looks ahead or behind, which no pattern may; describe the text itself')
      }
      if (kind === '<') while (this.#take() !== '>');
      else if (kind !== ':')
        throw new PatternRefused('sets flags, which no pattern may; write out both cases of a letter')
    }
    const { source, steps } = this.alternatives()
    this.#take()
    return { source: `(?:${source})`, steps }
  }

  #repeated({ source, steps }: LinearSyntax): LinearSyntax {
    const sign = this.#peek()
    let quantifier = ''
    let times = 1
    if (sign === '*' || sign === '+' || sign === '?') quantifier = this.#take()
    else if (sign === '{') {
      do quantifier += this.#take()
      while (!quantifier.endsWith('}'))
      const [least = '', most = ''] = quantifier.slice(1, -1).split(',')
      times = Math.max(1, Number(most === '' ? least : most))
      // RE2 takes no more digits than it can count.
      quantifier = quantifier.replaceAll(/\b0+(?=\d)/g, '')
    }
    // Whether a repetition is lazy changes what is captured, and not whether a text matches.
    if (quantifier !== '' && this.#peek() === '?') this.#take()
    return { source: source + quantifier, steps: steps * times }
  }

  #class(): string {
    const negated = this.#peek() === '^' ? this.#take() : ''
    let items = ''
    while (this.#peek() !== ']') {
      const next = this.#take()
      items += next === '\\' ? this.#escapeInClass() : next === '-' ? '-' : literal(codeOf(next))
    }
    this.#take()
    if (items === '') return negated === '' ? nothing : any
    // A hyphen at either end stands for itself.
    const listed = items.replace(/^-/, literal(0x2d)).replace(/-$/, literal(0x2d))
    return `[${negated}${listed}]`
  }

  #escapeInClass(): string {
    const next = this.#peek()
    if (next === 's' || next === 'S') return this.#take() === 's' ? blanks : noBlanks
    if (next !== 'b') return this.#escape()
    this.#take()
    return literal(8)
  }

  #escape(): string {
    const next = this.#take()
    const control = controls.get(next)
    if (control !== undefined) return literal(control)
    switch (next) {
      case 'b':
      case 'B':
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        return `\\${next}`
      case 's':
        return `[${blanks}]`
      case 'S':
        return `[^${blanks}]`
      case 'c':
        return literal(codeOf(this.#take()) % 32)
      case 'x':
        return literal(Number.parseInt(this.#take() + this.#take(), 16))
      case 'u':
        return literal(this.#unicode())
      case 'p':
      case 'P':
        return `\\${next}{${this.#property()}}`
      case 'k':
        throw new PatternRefused('refers back to what it matched, which no pattern may; spell the text out')
      default:
        if (/[1-9]/.test(next)) {
          throw new PatternRefused('refers back to what it matched, which no pattern may; spell the text out')
        }
        return literal(codeOf(next))
    }
  }

  /** Reads `{41}`, `0041`, or a pair of surrogates, after `\u`. */
  #unicode(): number {
    if (this.#peek() === '{') return Number.parseInt(this.#braced(), 16)
    const high = this.#hex4()
    const isHigh = high >= 0xd800 && high < 0xdc00
    if (!isHigh || this.#peek() !== '\\' || this.#characters[this.#at + 1] !== 'u') return high
    const start = this.#at
    this.#at += 2
    const low = this.#peek() === '{' ? Number.NaN : this.#hex4()
    if (low >= 0xdc00 && low < 0xe000) return (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000
    this.#at = start
    return high
  }

  #property(): string {
    const whole = this.#braced()
    const [, script, category] = /^(?:(?:sc|Script)=(.+)|(?:gc|General_Category)=(.+))$/.exec(whole) ?? []
    const key = script ?? category ?? whole
    const name = categories.get(key) ?? key
    if (!isKnownProperty(name)) {
      throw new PatternRefused(`names the property ${whole}, which is not known here; list the characters`)
    }
    return name
  }

  #braced(): string {
    let text = ''
    this.#take()
    for (let next = this.#take(); next !== '}'; next = this.#take()) text += next
    return text
  }

  #hex4(): number {
    return Number.parseInt(this.#take() + this.#take() + this.#take() + this.#take(), 16)
  }

  #peek(): string | undefined {
    return this.#characters[this.#at]
  }

  #take(): string {
    const next = this.#characters[this.#at]
    if (next === undefined) throw new Error('a valid pattern ended early')
    this.#at += 1
    return next
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0
const literal = (code: number): string => `\\x{${code.toString(16)}}`

/** Whether RE2 knows a property, by its name. The engine has checked the name, so there are few. */
const properties = new Map<string, boolean>()

function isKnownProperty(name: string): boolean {
  const known = properties.get(name) ?? compiles(`\\p{${name}}`)
  properties.set(name, known)
  return known
}

function compiles(source: string): boolean {
  try {
    RE2JS.compile(source)
    return true
  } catch {
    return false
  }
}
