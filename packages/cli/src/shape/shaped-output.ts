import { Output } from '../output.ts'
import { valueAt } from '../resources/show-value.ts'
import { jsonLine } from '../terminal-text.ts'

/** The standard output of a command that prints JSON, one value a line: each is cut to some members. */
export class ShapedOutput extends Output {
  /** Dotted names of the members. */
  readonly #fields: readonly string[]
  /** Names that no value has had yet. */
  readonly #missing: Set<string>
  #known: readonly string[] = []

  constructor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv, fields: readonly string[]) {
    super(stream, env)
    this.#fields = fields
    this.#missing = new Set(fields)
  }

  override async line(text: string): Promise<void> {
    await super.line(jsonLine(this.#select(JSON.parse(text))))
  }

  /**
   * Returns a fault of the requested fields; null if each was in some value. An optional member may
   * be absent from all values, so it is no more than a remark.
   */
  get remark(): string | null {
    if (this.#missing.size === 0 || this.#known.length === 0) return null
    return `--fields: nothing had ${[...this.#missing].join(', ')}; there were ${this.#known.join(', ')}`
  }

  #select(value: unknown): Record<string, unknown> {
    if (typeof value === 'object' && value !== null) this.#known = Object.keys(value)
    return Object.fromEntries(
      this.#fields.map(name => {
        const member = valueAt(value, name)
        if (member !== undefined) this.#missing.delete(name)
        return [name, member ?? null]
      }),
    )
  }
}
