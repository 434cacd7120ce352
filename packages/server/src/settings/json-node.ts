import { StartError } from '../kit/start-error.ts'

/**
 * Parses the text of a file.
 * @throws StartError that names the line if the text is not JSON
 */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StartError(`${file}: it is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The place of a value in the configuration file, and the context for reading it. */
interface Place {
  readonly file: string
  readonly path: string
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Collects the places of secrets that the file itself holds. */
  readonly inlineSecrets?: string[]
}

/** A value of the configuration file with its place, so that errors can name it. */
export class JsonNode {
  readonly #value: unknown
  readonly #place: Place

  constructor(value: unknown, place: Place) {
    this.#value = value
    this.#place = place
  }

  /** Ends the start with an error that names this place. */
  fail(problem: string): never {
    const { file, path } = this.#place
    throw new StartError(`${file}: ${path === '' ? 'it' : path} ${problem}`)
  }

  /** Returns the members of an object and refuses unknown ones. Absent and null members are undefined. */
  object<K extends string>(...known: readonly K[]): { readonly [key in K]?: JsonNode } {
    const entries = this.#entries()
    const members: { [key in K]?: JsonNode } = {}
    for (const [key, value] of entries) {
      const name = known.find(candidate => candidate === key)
      if (name === undefined) return this.#child(key, value).fail(`is not known here; known are ${known.join(', ')}`)
      if (value !== null) members[name] = this.#child(key, value)
    }
    return members
  }

  /** Returns the members of an object whose keys the file chooses. */
  record(keyPattern: RegExp): readonly (readonly [string, JsonNode])[] {
    return this.#entries().map(([key, value]) => {
      const child = this.#child(key, value)
      if (!keyPattern.test(key)) child.fail(`has a name that does not match ${keyPattern.source}`)
      return [key, child] as const
    })
  }

  array(least = 0): readonly JsonNode[] {
    if (!Array.isArray(this.#value)) return this.fail('must be an array')
    if (this.#value.length < least) this.fail(`must have at least ${least} ${least === 1 ? 'item' : 'items'}`)
    return this.#value.map((item: unknown, index) => this.#at(`${this.#place.path}[${index}]`, item))
  }

  string(pattern?: RegExp): string {
    if (typeof this.#value !== 'string' || this.#value === '') return this.fail('must be a string that is not empty')
    if (pattern !== undefined && !pattern.test(this.#value)) this.fail(`must match ${pattern.source}`)
    return this.#value
  }

  /** True if the value is a reference such as `{ "env": "NAME" }` and not the text itself. */
  get isReference(): boolean {
    return typeof this.#value === 'object'
  }

  /**
   * Reads a string that is given here or as `{ "env": "NAME" }`.
   * @param isSecret true if a file that holds the string itself must be closed to others
   */
  secret(isSecret = true): string {
    if (!this.isReference) {
      if (isSecret) this.#place.inlineSecrets?.push(this.#place.path)
      return this.string()
    }
    const name = this.object('env').env?.string() ?? this.fail('must be a string or { "env": "NAME" }')
    const value = this.#place.variables[name]
    return value === undefined || value === '' ? this.fail(`names the variable ${name}, which is not set`) : value
  }

  oneOf<const T extends string>(choices: readonly T[]): T {
    const found = choices.find(choice => choice === this.#value)
    return found ?? this.fail(`must be one of ${choices.join(', ')}`)
  }

  integer(least = 1): number {
    if (typeof this.#value === 'number' && Number.isSafeInteger(this.#value) && this.#value >= least) return this.#value
    return this.fail(`must be a whole number, at least ${least}`)
  }

  number(): number {
    if (typeof this.#value === 'number' && Number.isFinite(this.#value) && this.#value >= 0) return this.#value
    return this.fail('must be a number, at least 0')
  }

  boolean(): boolean {
    return typeof this.#value === 'boolean' ? this.#value : this.fail('must be true or false')
  }

  /** Returns a member; fails if it is missing. */
  require(member: JsonNode | undefined, name: string): JsonNode {
    return member ?? this.#child(name, undefined).fail('is missing')
  }

  #entries(): [string, unknown][] {
    if (typeof this.#value !== 'object' || this.#value === null || Array.isArray(this.#value)) {
      return this.fail('must be an object')
    }
    return Object.entries(this.#value)
  }

  #child(key: string, value: unknown): JsonNode {
    const plain = /^[A-Za-z_]\w*$/.test(key)
    const { path } = this.#place
    return this.#at(plain ? `${path}${path === '' ? '' : '.'}${key}` : `${path}[${JSON.stringify(key)}]`, value)
  }

  #at(path: string, value: unknown): JsonNode {
    return new JsonNode(value, { ...this.#place, path })
  }
}
