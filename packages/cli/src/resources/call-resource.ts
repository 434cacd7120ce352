import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type BerthClient, type MissingAccount, missingAccountText, type OperationId } from '@berth/client'
import { Option } from 'commander'
import { printFacts } from '../commands/facts.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { amountOf, budgetOf, type Dollars } from '../option-values.ts'
import { printTable } from '../table.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { decodeUtf8, readUtf8 } from '../utf8.ts'
import { organizationOperations, pagedOperations } from './operation-facts.ts'
import type { ResourceCommand, ResourceOption } from './resource.ts'
import { cellOf, factsOf, valueAt } from './show-value.ts'

type Input = Record<string, unknown>

/** Options that every resource command may have, besides its own. */
interface SharedOptions {
  readonly json?: boolean
  readonly limit?: number
  readonly output?: string
  readonly [name: string]: unknown
}

const largestPage = 100

/**
 * Calls the operation of a command and shows its answer.
 * @param values the command's arguments, in their order
 */
export async function callResource(
  resource: ResourceCommand,
  values: readonly unknown[],
  options: SharedOptions,
  io: CommandIo,
): Promise<ExitCode> {
  const { client, stdout, connection } = io
  const isPerson = connection.origin.kind === 'profile'
  const operation = (isPerson ? resource.forPeople : undefined) ?? resource.operation
  const input = await inputOf(resource, values, options)
  if (organizationOperations.has(operation)) input['organizationId'] = await organizationOf(client)
  const { view } = resource
  if (view.kind === 'list') {
    const { items, missing } = await readItems(client, operation, input, view.items, options.limit ?? 50)
    if (options.json) for (const item of items) await stdout.line(jsonLine(item))
    else {
      const paths = Object.values(view.columns)
      const rows = items.map(item => paths.map(path => cellOf(valueAt(item, path))))
      await printTable(Object.keys(view.columns), rows, stdout)
    }
    for (const account of missing) {
      await io.stderr.line(printableLine(`${missingAccountText(account)}; its repositories may be missing here`))
    }
    return exitCode.completed
  }
  const answer = await call(client, operation, input)
  if (view.kind === 'bytes') return save(answer as Response, options.output, io)
  if (view.kind === 'done') {
    const text = view.text.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
    await stdout.line(options.json ? jsonLine(input) : printableLine(text))
    return exitCode.completed
  }
  const shown = view.member === undefined ? answer : valueAt(answer, view.member)
  if (options.json) await stdout.line(jsonLine(shown))
  else await printFacts(factsOf(shown), stdout)
  return exitCode.completed
}

function call(client: BerthClient, operation: OperationId, input: Input): Promise<unknown> {
  return client.call(operation, input as never)
}

async function readItems(client: BerthClient, id: OperationId, input: Input, member: string, limit: number) {
  if (!pagedOperations.has(id)) {
    const items = valueAt(await call(client, id, input), member)
    if (!Array.isArray(items)) throw new UsageError('this is a file, not a directory: berth files read')
    return { items: items.slice(0, limit), missing: [] }
  }
  const found: unknown[] = []
  const missing: MissingAccount[] = []
  const query = { ...Object(input['query']), limit: Math.min(limit, largestPage) }
  for await (const page of client.pages(id as 'listRepositories', { ...input, query })) {
    found.push(...(valueAt(page, member) as unknown[]))
    missing.push(...(page.missing ?? []).filter(({ retried }) => !retried))
    if (found.length >= limit) break
  }
  return { items: found.slice(0, limit), missing }
}

/** Puts arguments and options where the operation has them. */
async function inputOf(resource: ResourceCommand, values: readonly unknown[], options: SharedOptions): Promise<Input> {
  const input: Input = {}
  const put = (to: string, value: unknown) => {
    if (value === undefined) return
    const members = to.split('.')
    const last = members.pop() ?? ''
    let parent = input
    for (const member of members) {
      const child: Input = { ...Object(parent[member]) }
      parent[member] = child
      parent = child
    }
    parent[last] = value
  }
  for (const [at, { to }] of resource.args.entries()) put(to, values[at])
  for (const { flags, to, as } of resource.options) {
    const value = options[new Option(flags).attributeName()]
    put(to, value === undefined ? value : await readValue(value, flags, as))
  }
  const changes = resource.options.filter(({ to }) => to.startsWith('body.'))
  if (resource.mayBeEmpty === true) input['body'] ??= {}
  if (changes.length > 0 && input['body'] === undefined) {
    throw new UsageError(`nothing to change: give ${changes.map(({ flags }) => flags).join(' or ')}`)
  }
  return input
}

/** @throws UsageError as `readJson` */
async function readValue(value: unknown, flags: string, as: ResourceOption['as']): Promise<unknown> {
  if (as === 'json') return readJson(flags, String(value))
  if (as === 'flag') return 'true'
  if (as === 'usd') return amountOf(value as Dollars)
  return as === 'budget' ? budgetOf(value as Dollars) : value
}

/** @throws UsageError for a file that cannot be read, or holds no JSON */
async function readJson(flags: string, path: string): Promise<unknown> {
  try {
    return JSON.parse(path === '-' ? decodeUtf8(await buffer(process.stdin)) : await readUtf8(path))
  } catch (cause) {
    throw new UsageError(`${flags}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

async function organizationOf(client: BerthClient): Promise<string> {
  return (await client.call('getMe')).organizationId
}

async function save(response: Response, output: string | undefined, { stdout }: CommandIo): Promise<ExitCode> {
  const { body } = response
  if (body === null) return exitCode.completed
  if (output !== undefined) await pipeline(Readable.fromWeb(body as never), createWriteStream(output))
  else if (stdout.isTerminal && response.headers.get('content-type') === 'application/octet-stream') {
    await body.cancel()
    throw new UsageError('the bytes may not be for a terminal: give --output, or redirect standard output')
  } else for await (const chunk of body) await stdout.write(chunk)
  return exitCode.completed
}
