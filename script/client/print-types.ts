import type { SchemaNode } from '../../packages/contract/src/openapi-schemas.ts'

const isNode = (value: unknown): value is SchemaNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns one component as an exported type, with its description and those of its members as comments. */
export function printComponent(title: string, schema: SchemaNode): string {
  const type = printType(schema, '')
  const head = comment(schema.description, '')
  const isObject = type.startsWith('{') && !isNode(schema.anyOf)
  return isObject ? `${head}export interface ${title} ${type}` : `${head}export type ${title} = ${type}`
}

/** Returns the TypeScript type of a schema whose titled parts are references. */
export function printType(schema: SchemaNode, indent: string): string {
  const { $ref, anyOf, type } = schema
  if (typeof $ref === 'string') return $ref.replace('#/components/schemas/', '')
  if (Array.isArray(schema.enum)) return union(schema.enum.map(value => literal(value)))
  if ('const' in schema) return literal(schema.const)
  if (Array.isArray(anyOf)) return union(anyOf.map(part => printType(part, indent)))
  if (Array.isArray(type))
    return union(type.map(one => (one === 'null' ? 'null' : printType({ ...schema, type: one }, indent))))
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type === 'array') return arrayOf(isNode(schema.items) ? printType(schema.items, indent) : 'unknown')
  if (type === 'object') return printObject(schema, indent)
  return 'unknown'
}

function printObject({ properties, required, additionalProperties, patternProperties }: SchemaNode, indent: string) {
  const values = isNode(patternProperties) ? Object.values(patternProperties).find(isNode) : additionalProperties
  if (!isNode(properties) || Object.keys(properties).length === 0) {
    return `Record<string, ${isNode(values) ? printType(values, indent) : 'unknown'}>`
  }
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, member]) => {
    if (!isNode(member)) throw new Error(`the member ${name} has no schema`)
    const mark = needed.includes(name) ? '' : '?'
    return `${comment(member.description, inner)}${inner}${memberName(name)}${mark}: ${printType(member, inner)}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

/** Returns a name as an object type's member, in quotes if it is not an identifier. */
export const memberName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`)

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value)

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ')

const arrayOf = (type: string): string => (/[|{ ]/.test(type) ? `Array<${type}>` : `${type}[]`)

function comment(description: unknown, indent: string): string {
  if (typeof description !== 'string') return ''
  return `${indent}/** ${description.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n`
}
