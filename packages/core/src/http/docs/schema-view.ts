import type { SchemaNode } from '@berth/contract'
import { isObject } from '@berth/platform/kit/json.ts'
import { type Html, html, inline } from './html.ts'

const isNode = (value: unknown): value is SchemaNode => isObject(value)

const nodes = (value: unknown): readonly SchemaNode[] => (Array.isArray(value) ? value.filter(isNode) : [])

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(item => (typeof item === 'string' ? item : JSON.stringify(item))) : []

/** Returns the anchor of a component. */
export const schemaAnchor = (name: string): string => `schema-${name}`

/** Renders a schema's type in one line, with references as links. */
export function typeOf(schema: SchemaNode): Html {
  const reference = schema.$ref
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? reference
    return html`<a href="#${schemaAnchor(name)}">${name}</a>`
  }
  const choices = nodes(schema.anyOf)
  if (choices.length > 0) return html`${choices.map((choice, index) => [index > 0 && ' or ', typeOf(choice)])}`
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`
  const types = Array.isArray(schema.type) ? strings(schema.type) : strings([schema.type ?? 'any'])
  const items = schema.items
  return html`${types.map((type, index) => [
    index > 0 && ' or ',
    type === 'array' && isNode(items) ? html`array of ${typeOf(items)}` : type,
  ])}${typeof schema.format === 'string' && html` <span class="format">${schema.format}</span>`}`
}

const bounds: readonly (readonly [keyword: string, label: string])[] = [
  ['minLength', 'at least # characters'],
  ['maxLength', 'at most # characters'],
  ['minimum', 'at least #'],
  ['maximum', 'at most #'],
  ['minItems', 'at least # items'],
  ['maxItems', 'at most # items'],
  ['minProperties', 'at least # properties'],
  ['pattern', 'matches `#`'],
  ['default', 'default `#`'],
]

/** Renders a schema's description and constraints. */
export function rulesOf(schema: SchemaNode): Html {
  const rules = bounds
    .filter(([keyword]) => schema[keyword] !== undefined)
    .map(([keyword, label]) => label.replace('#', () => String(schema[keyword])))
  const values = strings(schema.enum)
  const examples = strings(schema.examples)
  return html`${typeof schema.description === 'string' && html`<p>${inline(schema.description)}</p>`}${
    rules.length > 0 && html`<p class="rules">${inline(rules.join('; '))}</p>`
  }${values.length > 0 && html`<p class="values">One of ${list(values)}</p>`}${
    examples.length > 0 && html`<p class="values">For example ${list(examples)}</p>`
  }`
}

const list = (values: readonly string[]) =>
  html`${values.map((value, index) => [index > 0 && ', ', html`<code>${value}</code>`])}`

/** Renders the members of an object schema, with members of nested objects below them. */
export function membersOf(schema: SchemaNode): Html | null {
  const rows = rowsOf(schema, '')
  if (rows.length === 0) return null
  return html`<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
}

function rowsOf(schema: SchemaNode, prefix: string): readonly Html[] {
  const inner = schema.items
  if (isNode(inner)) return rowsOf(inner, `${prefix.replace(/\.$/, '')}[].`)
  const properties = schema.properties
  if (!isNode(properties)) return []
  const required = strings(schema.required)
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isNode(property)) return []
    return [memberRow(prefix, name, property, required.includes(name)), ...rowsOf(property, `${prefix}${name}.`)]
  })
}

/** Renders one row of a table of members or parameters. */
export const memberRow = (prefix: string, name: string, schema: SchemaNode, isRequired: boolean): Html =>
  html`<tr><td><code><span class="prefix">${prefix}</span>${name}</code>${
    isRequired ? html` <span class="required">required</span>` : null
  }</td><td>${typeOf(schema)}</td><td>${rulesOf(schema)}</td></tr>`
