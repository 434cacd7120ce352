import type { TSchema } from 'typebox'

/** A JSON Schema as it stands in the document. */
export type SchemaNode = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is SchemaNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members of a schema whose values are data or names and never schemas. */
const opaque = new Set(['enum', 'const', 'examples', 'default', 'required', 'type'])

/**
 * The schema as callers see it: a member with a default may be left out. The service fills it in before it judges what is
 * required, so the table's own schemas require it.
 */
function withoutDefaulted(schema: SchemaNode): SchemaNode {
  const { required, properties } = schema
  if (!Array.isArray(required) || !isNode(properties)) return schema
  const needed = required.filter(name => !isNode(properties[name]) || !('default' in properties[name]))
  const { required: _, ...rest } = schema
  return needed.length === 0 ? rest : { ...schema, required: needed }
}

/**
 * Collects the titled schemas as components and puts references in their place. A title is one schema everywhere: two
 * different schemas under one title are an error of the contract.
 */
export class SchemaComponents {
  readonly #byTitle = new Map<string, SchemaNode>()

  /** The schema as it stands in the document: a reference where it has a title. */
  place(schema: TSchema | SchemaNode): SchemaNode {
    const title: unknown = Reflect.get(schema, 'title')
    const placed = this.#members(withoutDefaulted({ ...schema }))
    if (typeof title !== 'string') return placed
    const known = this.#byTitle.get(title)
    if (known === undefined) this.#byTitle.set(title, placed)
    else if (JSON.stringify(known) !== JSON.stringify(placed)) throw new Error(`two schemas are titled ${title}`)
    return { $ref: `#/components/schemas/${title}` }
  }

  /** The components by title, in alphabetical order. */
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
