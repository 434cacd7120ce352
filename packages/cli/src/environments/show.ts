import type { Environment, EnvironmentRevision } from '@berth/client'
import { changedMembers, plain } from '@berth/client/documents'
import { printFacts } from '../commands/facts.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import type { Output } from '../output.ts'
import { jsonLine, printable, printableLine } from '../terminal-text.ts'
import { documentText } from './document.ts'
import { findEnvironment, findNamedOrFiled, readEnvironments } from './find-environment.ts'
import { exposureText } from './secret-rule.ts'

export interface JsonOption {
  readonly json?: boolean
}

/** Lists environments by name. */
export async function list(
  { archived, json }: JsonOption & { readonly archived?: boolean },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  for await (const environment of readEnvironments(client, archived ? { archived: 'true' } : {})) {
    await stdout.line(json ? jsonLine(environment) : listLine(environment, stdout))
  }
  return exitCode.completed
}

/** Prints an environment's newest revision. */
export async function show(
  named: string,
  { json }: JsonOption,
  { client, stdout, stderr }: CommandIo,
): Promise<ExitCode> {
  const environment = await findEnvironment(client, named)
  if (json) {
    await stdout.line(jsonLine(environment))
    return exitCode.completed
  }
  const { id, revision, createdAt, createdBy, secrets } = environment
  const state = stateOf(environment)
  const facts: (readonly [string, string | readonly string[]])[] = [
    ['Id', id],
    ['Revision', `${revision}, written ${createdAt} by ${authorText(createdBy)}`],
    ['Secrets', secrets.length === 0 ? 'none' : secrets.map(secretText)],
  ]
  if (environment.proposedHosts.length > 0) {
    const hosts = environment.proposedHosts.map(({ host, sessionId }) => `${host} (in session ${sessionId})`)
    facts.push(['Allowed by people', hosts])
  }
  await stdout.line(`${stdout.paint('bold', printableLine(environment.name))}${state === '' ? '' : ` (${state})`}`)
  await printFacts(facts, stdout)
  await stdout.write(`\n${printable(documentText(plain(environment.document)))}`)
  await printWarnings(environment, stderr)
  return exitCode.completed
}

/** Prints the revisions of an environment, newest first, with the changes of each. */
export async function history(
  named: string | undefined,
  { json, file }: JsonOption & { readonly file: string },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const { id } = await findNamedOrFiled(client, named, file)
  let newer: EnvironmentRevision | null = null
  let before: number | null = null
  do {
    const query: { before?: number } = before === null ? {} : { before }
    const page = await client.call('listEnvironmentRevisions', { environmentId: id, query })
    for (const revision of page.revisions) {
      if (json) await stdout.line(jsonLine(revision))
      else if (newer !== null) await stdout.line(revisionLine(newer, revision, stdout))
      newer = revision
    }
    before = page.nextBefore
  } while (before !== null)
  if (!json && newer !== null) await stdout.line(revisionLine(newer, null, stdout))
  return exitCode.completed
}

/** Prints members that a document allows but its author probably did not mean. */
export async function printWarnings({ warnings }: Environment, stderr: Output): Promise<void> {
  for (const { path, message } of warnings) {
    await stderr.line(`${stderr.paint('yellow', 'warning:')} ${printableLine(`${path.join('.')} ${message}`)}`)
  }
}

const secretText = (secret: Environment['secrets'][number]): string =>
  `${secret.name} (version ${secret.version}${secret.egress === undefined ? '' : `, ${exposureText(secret)}`})`

export const authorText = ({ kind, id }: Environment['createdBy']): string => `${kind} ${id}`

function listLine(environment: Environment, stdout: Output): string {
  const { id, name, revision } = environment
  const state = stateOf(environment)
  const head = `${id}  ${`revision ${revision}`.padEnd(13)}  ${printableLine(name)}`
  return state === '' ? head : `${head} ${stdout.paint('dim', `(${state})`)}`
}

function stateOf({ isDefault, archivedAt }: Environment): string {
  if (archivedAt !== null) return `archived ${archivedAt}`
  return isDefault ? 'default' : ''
}

function revisionLine(revision: EnvironmentRevision, older: EnvironmentRevision | null, stdout: Output): string {
  const head = `${String(revision.revision).padStart(5)}  ${revision.createdAt}  `
  return `${head}${changeText(revision, older)}  ${stdout.paint('dim', printableLine(`by ${authorText(revision.createdBy)}`))}`
}

function changeText(revision: EnvironmentRevision, older: EnvironmentRevision | null): string {
  if (older === null) return 'created'
  const members = changedMembers(plain(older.document), plain(revision.document))
  const versions = new Map(older.secrets.map(({ name, version }) => [name, version]))
  const written = revision.secrets.filter(({ name, version }) => versions.get(name) !== version)
  const kept = new Set(revision.secrets.map(({ name }) => name))
  const changes = [
    ...members,
    ...written.map(({ name }) => `secret ${name} written`),
    ...older.secrets.filter(({ name }) => !kept.has(name)).map(({ name }) => `secret ${name} deleted`),
  ]
  return printableLine(changes.length === 0 ? 'archived, unarchived, or default changed' : changes.join(', '))
}
