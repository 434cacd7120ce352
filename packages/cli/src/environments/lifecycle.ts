import { type Environment, ifRevision } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { findEnvironment, findNamedOrFiled, readEnvironments } from './find-environment.ts'
import type { FileOption } from './pull.ts'
import { type JsonOption, printWarnings } from './show.ts'

/** Writes a new revision with the document of an earlier one. */
export async function restore(
  revision: number,
  named: string | undefined,
  { file, json }: FileOption,
  io: CommandIo,
): Promise<ExitCode> {
  const found = await findNamedOrFiled(io.client, named, file)
  const { environment } = await io.client.call('restoreEnvironmentRevision', {
    environmentId: found.id,
    revision: String(revision),
    headers: ifRevision(found.revision),
  })
  const same = environment.revision === found.revision
  const what = same
    ? `revision ${found.revision} of ${found.name} already has the document of revision ${revision}`
    : `restored revision ${revision} of ${environment.name} as revision ${environment.revision}; its secrets are today's`
  await report(environment, what, json, io)
  await printWarnings(environment, io.stderr)
  return exitCode.completed
}

export async function archive(named: string, { json }: JsonOption, io: CommandIo): Promise<ExitCode> {
  const found = await findEnvironment(io.client, named)
  const { environment } = await io.client.call('archiveEnvironment', {
    environmentId: found.id,
    headers: ifRevision(found.revision),
  })
  return report(environment, `archived ${environment.name}; sessions that are bound to it stay bound`, json, io)
}

export async function unarchive(named: string, { json }: JsonOption, io: CommandIo): Promise<ExitCode> {
  const found = await findEnvironment(io.client, named)
  const { environment } = await io.client.call('unarchiveEnvironment', {
    environmentId: found.id,
    headers: ifRevision(found.revision),
  })
  return report(environment, `unarchived ${environment.name}`, json, io)
}

/** Prints the default environment, or chooses another one; `none` clears it. */
export async function chooseDefault(named: string | undefined, { json }: JsonOption, io: CommandIo): Promise<ExitCode> {
  const { client } = io
  const environment = named === undefined ? await findDefault(io) : await choose(named)
  const verb = named === undefined ? 'is' : 'is now'
  const what =
    environment === null
      ? `no environment ${verb} the default`
      : `${environment.name} ${verb} the default of people's new sessions`
  return report(environment, what, json, io)

  async function choose(name: string): Promise<Environment | null> {
    const id = name === 'none' ? null : (await findEnvironment(client, name)).id
    return (await client.call('setDefaultEnvironment', { body: { id } })).environment
  }
}

async function findDefault({ client }: CommandIo): Promise<Environment | null> {
  for await (const environment of readEnvironments(client)) if (environment.isDefault) return environment
  return null
}

async function report(
  environment: Environment | null,
  line: string,
  json: boolean | undefined,
  { stdout }: CommandIo,
): Promise<ExitCode> {
  await stdout.line(json ? jsonLine({ environment }) : printableLine(line))
  return exitCode.completed
}
