import { operationTable } from '@berth/client'
import { Option } from 'commander'
import type { ResourceArgument, ResourceCommand, ResourceOption, ResourceRow, ResourceView } from './resource.ts'

/** Names of path parameters for people, and explanations, if the parameter's own name is not enough. */
const parameterTexts: Readonly<Record<string, { readonly noun?: string; readonly does?: string }>> = {
  appSlug: { noun: 'app', does: 'slug of the app' },
  hostId: { does: 'id of the host' },
  key: { does: 'an id that tells this delivery from others' },
  kid: { noun: 'key' },
  membershipId: { noun: 'member' },
}

/** Returns a command with the parts that follow from its operation: arguments of the path, places of options, the view. */
export function deriveResource(path: string, row: ResourceRow): ResourceCommand {
  const { operation, does, forPeople, options = [], mayBeEmpty } = row
  const parameters = parametersOf(row)
  const args = [...parameters.map(name => argumentOf(name, row)), ...(row.args ?? [])]
  const example = args.flatMap(({ shown }) => (shown.startsWith('<') ? [`$${constantOf(shown.slice(1, -1))}`] : []))
  return {
    path,
    does,
    operation,
    ...(forPeople !== undefined && { forPeople }),
    args,
    options: options.map(option => ({ ...option, to: option.to ?? placeOf(option, row) })),
    ...(mayBeEmpty !== undefined && { mayBeEmpty }),
    view: viewOf(row, parameters.at(-1)),
    examples: row.examples ?? [example.join(' ')],
  }
}

/** Returns the parameters of an operation's path, except the organization, which is the caller's. */
const parametersOf = ({ operation }: ResourceRow): string[] =>
  [...operationTable[operation].path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) =>
    name === 'organizationId' ? [] : [name],
  )

function argumentOf(name: string, { operation }: ResourceRow): ResourceArgument {
  const noun = nounOf(name)
  const isOptional = operationTable[operation].callerId === name
  const does = isOptional ? 'its id; a new one if absent' : parameterTexts[name]?.does
  return { shown: isOptional ? `[${noun}]` : `<${noun}>`, to: name, ...(does !== undefined && { does }) }
}

function viewOf({ operation, columns, items, member, done }: ResourceRow, parameter = ''): ResourceView {
  const { answer, page } = operationTable[operation]
  if (done !== undefined) return { kind: 'done', text: `${done} ${nounOf(parameter)} {${parameter}}` }
  if (answer === 'response') return { kind: 'bytes' }
  if (columns === undefined) return { kind: 'thing', ...(member !== undefined && { member }) }
  const path = items ?? page?.items
  if (path === undefined) throw new Error(`${operation} answers no page, so the row names its items`)
  return { kind: 'list', columns, items: path }
}

/** Options are members of the query of a read, and of the body of a write. */
const placeOf = ({ flags }: Pick<ResourceOption, 'flags'>, { operation }: ResourceRow): string =>
  `${operationTable[operation].method === 'GET' ? 'query' : 'body'}.${new Option(flags).attributeName()}`

const nounOf = (name: string): string =>
  parameterTexts[name]?.noun ?? name.replace(/Id$/, '').replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

const constantOf = (noun: string): string => noun.replaceAll('-', '_').toUpperCase()
