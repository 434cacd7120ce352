import type { TSchema } from 'typebox'

/** A JSON Schema as it appears in the document. */
export type SchemaNode = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is SchemaNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Keywords whose values are data or names, never schemas. */
const opaque = new Set(['enum', 'const', 'examples', 'default', 'required', 'type'])

/**
 * Removes members with a default from `required`, because callers may omit them. The service fills defaults in before
 * it validates, so the route table's own schemas require them.
 */
function withoutDefaulted(schema: SchemaNode): SchemaNode {
  const { required, properties } = schema
  if (!Array.isArray(required) || !isNode(properties)) return schema
  const needed = required.filter(name => !isNode(properties[name]) || !('default' in properties[name]))
  const { required: _, ...rest } = schema
  return needed.length === 0 ? rest : { ...schema, required: needed }
}

/**
 * Collects the schemas that have a title as components, and puts references in their place.
 */
export class SchemaComponents {
  readonly #byTitle = new Map<string, SchemaNode>()

  /**
   * Returns the schema for the document: a reference if it has a title.
   * @throws Error if a different schema has the same title
   */
  place(schema: TSchema | SchemaNode): SchemaNode {
    const title: unknown = Reflect.get(schema, 'title')
    const placed = this.#members(withoutDefaulted({ ...schema }))
    if (typeof title !== 'string') return placed
    const known = this.#byTitle.get(title)
    if (known === undefined) this.#byTitle.set(title, placed)
    else if (JSON.stringify(known) !== JSON.stringify(placed)) throw new Error(`two schemas are titled ${title}`)
    return { $ref: `#/components/schemas/${title}` }
  }

  /** Returns the components by title, in alphabetical order. */
  all(): Readonly<Record<string, SchemaNode>> {
    return Object.fromEntries([...this.#byTitle].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #members(node: SchemaNode): SchemaNode {
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => {
        if (opaque.has(key)) return [key, value]
        if (key === 'properties' && isNode(value)) return [key, this.#each(value)]
        if (Array.isArray(value)) return [key, value.map(item => (isNode(item) ? this.place(item) : item))]
        return [key, isNode(value) ? this.place(value) : value]
      }),
    )
  }

  #each(properties: SchemaNode): SchemaNode {
    return Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, isNode(value) ? this.place(value) : value]),
    )
  }
}
