import { randomUUID } from 'node:crypto'
import { type BerthClient, BerthError, type Environment, ifRevision } from '@berth/client'
import { changedMembers, plain } from '@berth/client/documents'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { issueText } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { type EnvironmentFile, requireFile, writeEnvironmentFile } from './environment-file.ts'
import { findById, findRevision } from './find-environment.ts'
import type { FileOption } from './pull.ts'
import { authorText, printWarnings } from './show.ts'

interface Applied {
  readonly environment: Environment
  /** The newest revision before; null if there was none. */
  readonly before: Environment | null
}

/** Creates the environment of the file, or replaces its newest revision if that is the one the file was read from. */
export async function apply({ file: path, json }: FileOption, io: CommandIo): Promise<ExitCode> {
  const { client, stdout, stderr } = io
  const read = await requireFile(path)
  const file = { ...read, id: read.id ?? randomUUID() }
  // The id is in the file before the environment exists: if the answer is lost, the next apply creates no second one.
  if (read.id === undefined) await writeEnvironmentFile(path, file)
  let applied: Applied
  try {
    applied = await put(client, file)
  } catch (failure) {
    if (!(failure instanceof BerthError) || failure.code !== 'environment_invalid') {
      throw await explained(failure, client, path, file)
    }
    await printIssues(path, failure, stderr)
    return exitCode.failed
  }
  const { environment, before } = applied
  const { id, name, revision, warnings } = environment
  if (read.revision !== revision) await writeEnvironmentFile(path, { ...file, revision })
  const changed = before === null ? [] : changedMembers(plain(before.document), plain(environment.document))
  const outcome = before === null ? 'created' : changed.length === 0 ? 'unchanged' : 'updated'
  if (json) await stdout.line(jsonLine({ file: path, outcome, id, name, revision, changed, warnings }))
  else {
    const what = changed.length === 0 ? '' : `: ${changed.join(', ')}`
    await stdout.line(printableLine(`${outcome} ${name}, revision ${revision}${what}`))
    await printWarnings(environment, stderr)
  }
  return exitCode.completed
}

async function put(client: BerthClient, file: EnvironmentFile & { readonly id: string }): Promise<Applied> {
  const before = await findById(client, file.id)
  const seen = before === null ? (file.revision ?? null) : await replaceable(client, file, before)
  const body = { document: file.document }
  const headers = seen === null ? {} : ifRevision(seen)
  const { environment } = await client.call('putEnvironment', { environmentId: file.id, body, headers })
  return { environment, before }
}

/**
 * Returns the revision that the file may replace. A newer revision with the same document (a secret was written, or the
 * default chosen) holds nothing that the file could undo.
 */
async function replaceable(client: BerthClient, file: EnvironmentFile, newest: Environment): Promise<number | null> {
  if (file.revision === undefined || file.revision >= newest.revision) return file.revision ?? null
  const base = await findRevision(client, newest.id, file.revision)
  const isSame = base !== null && changedMembers(plain(base.document), plain(newest.document)).length === 0
  return isSame ? newest.revision : file.revision
}

/** Returns the failure in terms of the file, such as who wrote the newer revision. */
async function explained(
  failure: unknown,
  client: BerthClient,
  path: string,
  file: EnvironmentFile & { readonly id: string },
): Promise<unknown> {
  if (!(failure instanceof BerthError)) return failure
  const { code } = failure
  if (code === 'environment_not_found') {
    return new Error(
      `this organization has no environment ${file.id}: remove "id" and "revision" from ${path} to create one`,
    )
  }
  if (code !== 'environment_conflict' && code !== 'precondition_required') return failure
  const newest = await findById(client, file.id)
  if (newest === null || newest.archivedAt !== null || newest.revision === file.revision) return failure
  const { revision, createdAt, createdBy } = newest
  const from =
    file.revision === undefined ? 'does not say from which revision it is' : `is of revision ${file.revision}`
  return new Error(
    `${authorText(createdBy)} wrote revision ${revision} at ${createdAt}, and ${path} ${from}; ` +
      `\`berth env pull --merge\` takes that over and keeps your changes, \`berth env pull --force\` drops them, ` +
      `and "revision": ${revision} in the file has it applied as it is`,
  )
}

/** Prints the members that the service refused, by their paths in the file. */
export async function printIssues(path: string, { fields }: BerthError, stderr: CommandIo['stderr']): Promise<void> {
  await stderr.line(`berth: the service refuses ${printableLine(path)}, and nothing has changed (environment_invalid):`)
  const issues: readonly unknown[] = Array.isArray(fields.issues) ? fields.issues : []
  for (const issue of issues) await stderr.line(`  ${printableLine(issueText(issue))}`)
}
