import { Output } from '../output.ts'
import { valueAt } from '../resources/show-value.ts'
import { jsonLine, printable } from '../terminal-text.ts'
import type { Shape } from './shape.ts'

/** The standard output of a command that prints JSON, one value a line: each is cut as the options say. */
export class ShapedOutput extends Output {
  readonly #shape: Shape
  /** Names that no value has had yet. */
  readonly #missing: Set<string>
  #known: readonly string[] = []

  constructor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv, shape: Shape) {
    super(stream, env)
    this.#shape = shape
    this.#missing = new Set(shape.fields)
  }

  override async line(text: string): Promise<void> {
    const { fields, filter } = this.#shape
    const value: unknown = JSON.parse(text)
    const cut = fields === null ? value : this.#select(value, fields)
    if (filter === null) return super.line(jsonLine(cut))
    const { filterJson } = await import('./filter-json.ts')
    for (const made of await filterJson(cut, filter)) {
      // As with `jq --raw-output`, a text is printed without quotes.
      await super.line(typeof made === 'string' ? printable(made) : jsonLine(made))
    }
  }

  /**
   * Returns what is wrong with the fields that were asked for; null if each stood in some value. An optional member may
   * be absent from all values, so it is no more than a remark.
   */
  get remark(): string | null {
    if (this.#missing.size === 0 || this.#known.length === 0) return null
    return `--fields: nothing had ${[...this.#missing].join(', ')}; there were ${this.#known.join(', ')}`
  }

  #select(value: unknown, fields: readonly string[]): Record<string, unknown> {
    if (typeof value === 'object' && value !== null) this.#known = Object.keys(value)
    return Object.fromEntries(
      fields.map(name => {
        const member = valueAt(value, name)
        if (member !== undefined) this.#missing.delete(name)
        return [name, member ?? null]
      }),
    )
  }
}
