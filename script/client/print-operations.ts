import { errors, Issue } from '../../packages/contract/src/error.ts'
import { eventCatalog } from '../../packages/contract/src/event.ts'
import { type Operation, type OperationId, operationIds, operationOf } from '../../packages/contract/src/index.ts'
import { SchemaComponents, type SchemaNode } from '../../packages/contract/src/openapi-schemas.ts'
import { Statement } from '../../packages/contract/src/statement.ts'
import { callerIds, callerKeys, repeatablePosts } from './caller-ids.ts'
import { memberName, printComponent, printType } from './print-types.ts'

const head = '// Written by `node script/client.ts` from the route table of @berth/contract. Do not edit.\n\n'

/** Fields of the error body that come with a code. */
const fieldsOf: Readonly<Record<string, string>> = {
  insufficient_scope: '{ requiredScope: string }',
  invalid_request: '{ issues: Issue[] }',
  invalid_input: '{ issues: Issue[] }',
  environment_invalid: '{ issues: Issue[] }',
  invalid_path_parameter: '{ parameter: string }',
  unsupported_media_type: '{ mediaType?: string }',
  method_not_allowed: '{ allow: string[] }',
  cloud_rate_limit_exceeded: '{ retryAfterSeconds: number }',
  cloud_interaction_conflict: '{ outcome?: Record<string, unknown> }',
  cloud_review_refused: '{ message?: string }',
  environment_conflict: '{ message?: string }',
  transcription_not_configured: '{ message?: string }',
}

/** Operations that the client calls: all but those that need the cookie of a browser at the console. */
export const clientOperationIds = operationIds.filter(id => operationOf(id).access !== 'browser')

/** How an operation's success is read: a JSON body, no body, or the response itself with its body unread. */
type Answer = 'json' | 'none' | 'response'

/** Returns the two files that the client package is generated from. */
export function printClient(): { readonly types: string; readonly table: string } {
  const schemas = new SchemaComponents()
  const operations = clientOperationIds.map(id => printOperation(id, operationOf(id), schemas))
  const codes = Object.entries(errors).map(([code, { cause }]) => {
    const fields = fieldsOf[code] === undefined ? 'Record<never, never>' : fieldsOf[code]
    return `  /** ${cause} */\n  ${code}: ${fields}\n`
  })
  const events = Object.entries(eventCatalog).map(
    ([type, { data }]) => `  '${type}': ${printType(schemas.place(data), '  ')}\n`,
  )
  schemas.place(Issue)
  schemas.place(Statement)
  const components = Object.entries(schemas.all()).map(([title, schema]) => printComponent(title, schema))
  const types = [
    ...components,
    `/** The types of Events that this version knows, with their \`data\`. */\nexport interface EventDataByType {\n${events.join('')}}`,
    `/** The codes of refusals that this version knows, with the fields that come with each. */\nexport interface ErrorCodes {\n${codes.join('')}}`,
    `/** Input, answer and page item of each operation. */\nexport interface Operations {\n${operations.join('')}}`,
  ]
  const rows = clientOperationIds.map(id => `  ${id}: ${JSON.stringify(rowOf(id, operationOf(id)))},\n`)
  const table = `${head}import type { OperationRow } from '../operation-row.ts'\nimport type { Operations } from './types.ts'\n\n/** How each operation is sent. */\nexport const operationTable: Readonly<Record<keyof Operations, OperationRow>> = {\n${rows.join('')}}\n`
  return { types: `${head}${types.join('\n\n')}\n`, table }
}

function printOperation(id: OperationId, row: Operation, schemas: SchemaComponents): string {
  const parts = [
    ...Object.entries(row.params?.properties ?? {}).map(([name, schema]) =>
      member(name, schemas.place(schema), callerIds[id] === name),
    ),
    ...part('query', row.query, schemas),
    ...part('headers', row.headers, schemas),
    ...bodyOf(id, row, schemas),
  ]
  const input = parts.length === 0 ? 'Record<never, never>' : `{ ${parts.join('; ')} }`
  const item = pageOf(row)
  const kind = answerOf(row)
  const bodies = Object.values(row.responses).flatMap(({ schema }) =>
    schema === undefined ? [] : [printType(schemas.place(schema), '    ')],
  )
  const body = [...new Set(bodies)].join(' | ')
  const answer = kind === 'json' ? body || 'Record<string, unknown>' : kind === 'none' ? 'undefined' : 'Response'
  const lines = [`    input: ${input}`, `    answer: ${answer}`]
  if (item !== undefined) lines.push(`    item: ${body}['${item.items}'][number]`)
  const summary = [row.summary, row.description].filter(text => text !== undefined).join('. ')
  const first = row.path.startsWith('/cloud/') ? `${summary} (First-party: it may change in any release.)` : summary
  return `  /** ${first.replaceAll('*/', '* /')} */\n  ${id}: {\n${lines.join('\n')}\n  }\n`
}

const member = (name: string, schema: SchemaNode, optional: boolean) =>
  `${memberName(name)}${optional ? '?' : ''}: ${printType(schema, '    ')}`

function part(name: 'query' | 'headers', schema: Operation['query'], schemas: SchemaComponents): string[] {
  if (schema === undefined) return []
  const placed = schemas.place(schema)
  const optional = !Array.isArray(placed.required) || placed.required.length === 0
  return [member(name, placed, optional)]
}

function bodyOf(id: OperationId, row: Operation, schemas: SchemaComponents): string[] {
  if (row.octets !== undefined) return ['body: Uint8Array']
  if (row.form !== undefined) return ['body: FormData']
  if (row.body === undefined) return []
  const type = printType(schemas.place(row.body), '    ')
  const { properties, required = [] } = row.body
  // Members with a default may be left out, although a stored body has them all.
  const optional = required.filter(name => name === callerKeys[id] || 'default' in Object(properties[name]))
  const names = optional.map(name => `'${name}'`).join(' | ')
  return [`body: ${names === '' ? type : `Omit<${type}, ${names}> & Partial<Pick<${type}, ${names}>>`}`]
}

function answerOf(row: Operation): Answer {
  const successes = Object.values(row.responses)
  if (successes.some(({ mediaTypes }) => mediaTypes !== undefined && mediaTypes[0] !== 'application/json')) {
    return 'response'
  }
  if (successes.some(({ mediaTypes = [] }) => mediaTypes.includes('text/event-stream'))) return 'response'
  return successes.some(({ schema, mediaTypes }) => schema !== undefined || mediaTypes !== undefined) ? 'json' : 'none'
}

/** Returns where a page holds its items, and by which cursor the next one is asked for. */
function pageOf(row: Operation): { readonly items: string; readonly by: 'cursor' | 'after' | 'before' } | undefined {
  const query = Object.keys(row.query?.properties ?? {})
  const page = row.responses[200]?.schema
  const properties: Readonly<Record<string, { readonly type?: unknown }>> = Reflect.get(page ?? {}, 'properties') ?? {}
  const by = (['cursor', 'after', 'before'] as const).find(name => query.includes(name))
  const items = Object.keys(properties).find(name => properties[name]?.type === 'array')
  return by === undefined || items === undefined || row.method !== 'GET' ? undefined : { items, by }
}

function rowOf(id: OperationId, row: Operation) {
  const kind = answerOf(row)
  const body = row.octets !== undefined ? (row.octetsType ?? 'application/octet-stream') : undefined
  const accept = kind === 'response' ? Object.values(row.responses).flatMap(({ mediaTypes = [] }) => mediaTypes) : []
  return {
    method: row.method,
    path: row.path,
    answer: kind,
    ...('origin' in row && row.origin !== undefined && { origin: row.origin }),
    ...(row.method === 'POST' && !repeatablePosts.has(id) && { once: true }),
    ...(body !== undefined && { octets: body }),
    ...(accept.length > 0 && { accept: [...new Set(accept)].join(', ') }),
    ...(callerIds[id] !== undefined && { callerId: callerIds[id] }),
    ...(callerKeys[id] !== undefined && { callerKey: callerKeys[id] }),
    ...(pageOf(row) !== undefined && { page: pageOf(row) }),
  }
}
