import type { BerthClient, Environment } from '@berth/client'
import { changedMembers, complete, mergeDocuments, type PlainDocument, plain } from '@berth/client/documents'
import { createTwoFilesPatch } from 'diff'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { printPatch } from '../patch.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { documentText } from './document.ts'
import { type EnvironmentFile, fileOf, findFile, requireFile, writeEnvironmentFile } from './environment-file.ts'
import { findEnvironment, findRevision } from './find-environment.ts'
import type { JsonOption } from './show.ts'

export interface FileOption extends JsonOption {
  readonly file: string
}

export interface PullOptions extends FileOption {
  /** Drops changes of the file that were not applied. */
  readonly force?: boolean
  /** Keeps them, and takes over the changes of the newest revision since the file's. */
  readonly merge?: boolean
}

/** Writes an environment's newest revision to the file; it loses no changes that were not applied unless told to. */
export async function pull(
  named: string | undefined,
  { file: path, force, merge, json }: PullOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  if (force && merge) throw new UsageError('--force drops the changes that --merge would keep')
  const existing = force && named !== undefined ? null : await findFile(path)
  const name = named ?? existing?.id
  if (name === undefined) throw new UsageError(`name the environment to pull: there is no ${path} with the id of one`)
  const environment = await findEnvironment(client, name)
  const { id, revision } = environment
  const newest = fileOf(environment)
  const written = merge && existing !== null ? await merged(client, path, existing, environment) : newest
  if (!force && !merge && existing !== null) await requireApplied(client, path, existing, id)
  await writeEnvironmentFile(path, written)
  const kept = changedMembers(plain(environment.document), complete(written.document))
  const keeping = kept.length === 0 ? '' : `, keeping changes of ${kept.join(', ')}`
  if (json) await stdout.line(jsonLine({ file: path, id, name: environment.name, revision, kept }))
  else await stdout.line(printableLine(`wrote revision ${revision} of ${environment.name} to ${path}${keeping}`))
  return exitCode.completed
}

/** Returns the newest revision with the changes of the file. @throws Error if both changed the same */
async function merged(
  client: BerthClient,
  path: string,
  file: EnvironmentFile,
  environment: Environment,
): Promise<EnvironmentFile> {
  requireSame(path, file, environment.id)
  const base = file.revision === undefined ? null : await findRevision(client, environment.id, file.revision)
  if (base === null) throw new UsageError(`${path} does not say from which revision it is, so nothing can be merged`)
  const newest = plain(environment.document)
  const { document, conflicts } = mergeDocuments(plain(base.document), newest, complete(file.document))
  if (conflicts.length === 0) return { id: environment.id, revision: environment.revision, document }
  throw new Error(
    `${path} and revision ${environment.revision} have both changed ${conflicts.join(', ')} since revision ${base.revision}, ` +
      'and nothing was written: `berth env diff` shows what differs',
  )
}

/** Prints the changes that applying the file would make in the newest revision; the exit code is 1 if there are any. */
export async function diff({ file: path, json }: FileOption, { client, stdout, stderr }: CommandIo): Promise<ExitCode> {
  const file = await requireFile(path)
  if (file.id === undefined) throw new UsageError(`${path} is of no environment yet: \`berth env apply\` creates it`)
  const environment = await findEnvironment(client, file.id)
  const { id, name, revision } = environment
  const [newest, wanted] = [plain(environment.document), complete(file.document)]
  const changed = changedMembers(newest, wanted)
  const patch = changed.length === 0 ? '' : patchOf(newest, wanted, `${name} revision ${revision}`, path)
  if (json) await stdout.line(jsonLine({ id, name, revision, fileRevision: file.revision ?? null, changed, patch }))
  else await printPatch(patch, stdout)
  if (file.revision !== undefined && file.revision < revision) {
    await stderr.line(`berth: ${printableLine(path)} is of revision ${file.revision}; the newest is ${revision}`)
  }
  return changed.length === 0 ? exitCode.completed : exitCode.failed
}

/** @throws UsageError if a pull would lose changes */
async function requireApplied(client: BerthClient, path: string, file: EnvironmentFile, id: string): Promise<void> {
  requireSame(path, file, id)
  const base = file.revision === undefined ? null : await findRevision(client, id, file.revision)
  if (base === null || changedMembers(plain(base.document), complete(file.document)).length > 0) {
    throw new UsageError(
      `${path} has changes that were not applied: \`berth env diff\` shows them, --merge keeps them, and --force drops them`,
    )
  }
}

/** @throws UsageError if the file is of another environment */
function requireSame(path: string, file: EnvironmentFile, id: string): void {
  if (file.id === undefined || file.id.toLowerCase() === id) return
  throw new UsageError(`${path} is of another environment, ${file.id}; name another --file, or replace it with --force`)
}

function patchOf(before: PlainDocument, after: PlainDocument, from: string, to: string): string {
  const patch = createTwoFilesPatch(from, to, documentText(before), documentText(after), undefined, undefined, {
    context: 3,
  })
  return patch.replace(/^=+\n/, '')
}
