import { StartError } from '../kit/start-error.ts'

/** Longest delay of a Node timer. */
const longestSeconds = 2_000_000

/** One setting as the documentation lists it. */
export interface Declaration {
  readonly name: string
  readonly meaning: string
  /** Default, as prose or as an operator would write it. */
  readonly fallback: string
  /** Which values are allowed, as prose. */
  readonly range: string
}

interface Range {
  readonly least: number
  readonly most: number
}

/**
 * Reads settings from an environment. Reading declares a setting: after the last read, any other `BERTH_*` variable is
 * unknown. An empty variable counts as absent, because compose files and unit files cannot leave one out.
 */
export class Environment {
  readonly #variables: Readonly<Record<string, string | undefined>>
  readonly #declared = new Map<string, Declaration>()

  constructor(variables: Readonly<Record<string, string | undefined>>) {
    this.#variables = variables
  }

  get declarations(): readonly Declaration[] {
    return [...this.#declared.values()]
  }

  /** @param meaning ends with a sentence that says when to change the setting, as in all methods */
  text(name: string, meaning: string, fallback: string, range = 'any text'): string | undefined {
    this.#declared.set(name, { name, meaning, fallback, range })
    const value = this.#variables[name]
    return value === '' ? undefined : value
  }

  /** Reads a setting with `parse`. If `parse` returns undefined, the error says what was `expected`. */
  parsed<T>(
    name: string,
    meaning: string,
    fallback: string,
    parse: (text: string) => T | undefined,
    expected: string,
  ): T | undefined {
    const text = this.text(name, meaning, fallback, expected)
    if (text === undefined) return undefined
    const value = parse(text)
    if (value === undefined) throw new StartError(`${name} must be ${expected}`)
    return value
  }

  /**
   * Reads a time that the environment gives in whole seconds, within the limit of a Node timer.
   * @param fallbackSeconds default in seconds; the range is in seconds as well
   * @returns milliseconds
   */
  duration(name: string, fallbackSeconds: number, meaning: string, range: Partial<Range> = {}): number {
    return this.integer(name, fallbackSeconds, meaning, { least: 1, most: longestSeconds, ...range }) * 1000
  }

  integer(name: string, fallback: number, meaning: string, range: Partial<Range> = {}): number {
    const { least = 1, most = Number.MAX_SAFE_INTEGER } = range
    const parse = (text: string): number | undefined => {
      const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      return number >= least && number <= most ? number : undefined
    }
    return this.parsed(name, meaning, String(fallback), parse, describeRange('a whole number', least, most)) ?? fallback
  }

  number(name: string, fallback: number, meaning: string, range: Range): number {
    const parse = (text: string): number | undefined => {
      const number = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
      return number >= range.least && number <= range.most ? number : undefined
    }
    const expected = describeRange('a number', range.least, range.most)
    return this.parsed(name, meaning, String(fallback), parse, expected) ?? fallback
  }

  oneOf<const T extends string>(name: string, fallback: T, meaning: string, choices: readonly T[]): T {
    const parse = (text: string): T | undefined => choices.find(choice => choice === text)
    return this.parsed(name, meaning, fallback, parse, `one of ${choices.join(', ')}`) ?? fallback
  }

  /**
   * Refuses a variable that others of its family make an operator expect.
   * @throws StartError that says what to set in its place
   */
  refuse(name: string, remedy: string): void {
    if (this.#variables[name]) throw new StartError(`${name} is not a setting; ${remedy}`)
  }

  /**
   * Refuses unknown `BERTH_*` variables.
   * @throws StartError that names the first variable that nothing has read
   */
  refuseUnknown(): void {
    for (const name of Object.keys(this.#variables)) {
      if (!name.startsWith('BERTH_') || this.#declared.has(name) || clientVariables.has(name)) continue
      const near = [...this.#declared.keys()].find(known => isNear(known, name))
      throw new StartError(`${name} is not a setting${near === undefined ? '' : `; did you mean ${near}?`}`)
    }
  }
}

/** Variables of the command line, which may be in the environment that starts the service. */
const clientVariables: ReadonlySet<string> = new Set(['BERTH_URL', 'BERTH_API_KEY', 'BERTH_PROFILE'])

function describeRange(kind: string, least: number, most: number): string {
  return most === Number.MAX_SAFE_INTEGER ? `${kind}, at least ${least}` : `${kind} from ${least} to ${most}`
}

/** Returns true if at most two single-letter changes turn one name into the other (Levenshtein distance). */
function isNear(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > 2) return false
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...left].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...right].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return (row.at(-1) ?? 0) <= 2
}
