import type { OpenApiDocument, OpenApiOperation, SchemaNode } from '@berth/contract'
import { isObject } from '@berth/platform/kit/json.ts'
import { commands } from './commands.ts'
import { type Html, html } from './html.ts'

interface Described {
  readonly method: string
  readonly path: string
  readonly operation: OpenApiOperation
}

/** A schema deeper than so many levels is told by its type alone. */
const MAX_DEPTH = 4

/** Renders how an operation is called: by curl, by the client, and by the command if there is one. */
export function exampleView(document: OpenApiDocument, described: Described): Html {
  const command = commands[described.operation.operationId]
  const shown = [
    ['curl', curlOf(document, described)],
    ['TypeScript', typeScriptOf(document, described)],
    ...(command === undefined ? [] : [['berth', `berth ${command}`]]),
  ]
  return html`<div class="examples">${shown.map(
    ([name, text]) => html`<p>${name}</p><pre tabindex="0" aria-label="Example in ${name}"><code>${text}</code></pre>`,
  )}</div>`
}

function curlOf(document: OpenApiDocument, { method, path, operation }: Described): string {
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${constantOf(name)}`)
  const body = bodyOf(document, operation)
  const lines = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "$BERTH_URL${place}"`,
    ...(operation['x-svc-capability'] === undefined && operation.security.length === 0
      ? []
      : [`-H "Authorization: Bearer $${operation['x-svc-principal'] === 'person' ? 'BERTH_TOKEN' : 'BERTH_API_KEY'}"`]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ]
  return lines.join(' \\\n  ')
}

function typeScriptOf(document: OpenApiDocument, { operation }: Described): string {
  const body = bodyOf(document, operation)
  const names = (operation.parameters ?? []).filter(({ in: where }) => where === 'path').map(({ name }) => name)
  const input = [...names, ...(body === undefined ? [] : [`body: ${literal(body)}`])]
  return `await client.call('${operation.operationId}'${input.length === 0 ? '' : `, { ${input.join(', ')} }`})`
}

const constantOf = (name: string) => name.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()

/** Returns a value as TypeScript writes it. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (!isObject(value)) return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${name}: ${literal(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** Returns the smallest body that shows what an operation needs; undefined if it takes no JSON. */
function bodyOf(document: OpenApiDocument, { requestBody }: OpenApiOperation): unknown {
  const schema = requestBody?.content['application/json']?.schema
  return schema === undefined ? undefined : exampleOf(document, schema, MAX_DEPTH)
}

function exampleOf(document: OpenApiDocument, schema: SchemaNode, depth: number): unknown {
  if (typeof schema.$ref === 'string') {
    const named = document.components.schemas[schema.$ref.split('/').at(-1) ?? '']
    return named === undefined || depth === 0 ? {} : exampleOf(document, named, depth - 1)
  }
  const [first] = [schema.examples, schema.enum, schema.anyOf]
    .map(given => (Array.isArray(given) ? given[0] : undefined))
    .filter(given => given !== undefined)
  if (isObject(first) && Array.isArray(schema.anyOf)) return exampleOf(document, first, depth)
  if (first !== undefined) return first
  if ('const' in schema) return schema.const
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return depth === 0 ? {} : membersOf(document, schema, depth)
    case 'array':
      return isObject(schema.items) && Number(schema.minItems ?? 0) > 0
        ? [exampleOf(document, schema.items, depth - 1)]
        : []
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return schema.format === 'uuid' ? '00000000-0000-4000-8000-000000000000' : '…'
  }
}

function membersOf(document: OpenApiDocument, { properties, required }: SchemaNode, depth: number): object {
  const needed = Array.isArray(required) ? required : []
  const known = isObject(properties) ? Object.entries(properties) : []
  return Object.fromEntries(
    known.flatMap(([name, member]) =>
      needed.includes(name) && isObject(member) ? [[name, exampleOf(document, member, depth - 1)]] : [],
    ),
  )
}
