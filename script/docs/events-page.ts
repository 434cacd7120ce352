import { type EventType, eventCatalog, eventTypes } from '../../packages/contract/src/event.ts'
import { anchorsOf } from './references.ts'

const introduction = `# Events

<!-- Made by \`node script/docs.ts\`; do not edit. -->

For developers who read the log of a Session, a stream or a webhook: every type of Event, and the members of its \`data\`.
[Concepts](concepts.md#the-log) says how the log is ordered and followed, [webhooks](webhooks.md) how Events are sent to you.

Every Event has \`id\`, \`type\`, \`createdAt\`, \`sequence\`, \`subject\` and \`data\`. The set of types is open, and so are their members: ignore
those that you do not know. Webhooks subscribe to families; Events without a family are never pushed. Events of the visibility
\`transcript\` hold content: messages, tools' output and the like; those of \`timeline\` need not name a Run.

Each Event has a digest over the one before and its own text, exactly as pages, streams and webhooks carry it. \`digestEvents\` says what a log
comes to at an Event ([the log](concepts.md#the-log)), and \`berth verify --log\` makes the chain anew and compares.

## All types

| type | family | visibility | meaning |
|---|---|---|---|
`

/** A member of `data`, with the path that leads to it. */
interface Member {
  readonly path: string
  readonly schema: Json
  readonly optional: boolean
}

type Json = Readonly<Record<string, unknown>>

/** The schema of an Event's `data`. */
type Shape = (typeof eventCatalog)[EventType]['data']

/** Returns the page of every Event type, made from the contract. Types whose `data` is the same share a section. */
export function renderEvents(): string {
  const rows = eventTypes.map(type => {
    const { family, visibility, data } = eventCatalog[type]
    return `| [\`${type}\`](#${anchorOf(headingOf(typesWith(data)))}) | ${family ?? '–'} | ${visibility} | ${escaped(descriptionOf(data))} |\n`
  })
  const shapes = new Set<Shape>(eventTypes.map(type => eventCatalog[type].data))
  const sections = [...shapes].map(data => {
    const members = membersOf(data, '')
    return `\n## ${headingOf(typesWith(data))}\n\n${descriptionOf(data)}\n\n${table(members)}`
  })
  return `${introduction}${rows.join('')}${sections.join('')}`
}

const typesWith = (data: Shape): EventType[] => eventTypes.filter(type => eventCatalog[type].data === data)

const headingOf = (types: readonly EventType[]): string => types.join(', ')

/** Returns the anchor of a heading of this page. */
const anchorOf = (heading: string): string => [...anchorsOf(`# ${heading}`)].join('')

function table(members: readonly Member[]): string {
  const rows = members.map(({ path, schema, optional }) => {
    const sentences = [optional ? 'Optional.' : '', descriptionOf(schema)].filter(sentence => sentence !== '').join(' ')
    return `| \`${path}\` | ${escaped(typeOf(schema))} | ${escaped(sentences)} |\n`
  })
  return `| member | type | meaning |\n|---|---|---|\n${rows.join('')}`
}

/** Lists the members of an object, each followed by those within it. */
function membersOf(schema: object, prefix: string): Member[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, Json>>
    required?: readonly string[]
  }
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    const items = (member as { items?: Json }).items
    return [
      { path, schema: member, optional: !required.includes(name) },
      ...(items === undefined ? membersOf(member, `${path}.`) : membersOf(items, `${path}[].`)),
    ]
  })
}

/** Names the type of a member: its closed or known values, its format, or the type of JSON. */
function typeOf(schema: Json): string {
  if ('const' in schema) return code(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map(code).join(', ')
  if (Array.isArray(schema.examples)) return `${schema.examples.map(code).join(', ')}, or another text`
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map(each => typeOf(each as Json)).join(' or ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items as Json)}`
  if (Array.isArray(schema.type)) return schema.type.map(String).join(' or ')
  if (schema.format === 'uuid') return 'UUID'
  if (schema.format === 'date-time') return 'time (RFC 3339)'
  if (schema.pattern === '^[a-f0-9]{64}$') return 'SHA-256 in hexadecimal'
  return schema.type === undefined ? 'any JSON' : String(schema.type)
}

const code = (value: unknown): string => `\`${String(value)}\``
const descriptionOf = (schema: object): string => String((schema as { description?: string }).description ?? '')
const escaped = (text: string): string => text.replaceAll('|', '\\|')
