import { randomUUID } from 'node:crypto'
import { BerthError, type Environment } from '@berth/client'
import type { CommandIo } from '../io.ts'
import { clip, printableLine } from '../terminal-text.ts'
import { printIssues } from './apply.ts'
import { type EnvironmentFile, requireFile } from './environment-file.ts'
import { findById } from './find-environment.ts'
import { printWarnings } from './show.ts'

const nameCharacters = 64

/**
 * Makes an environment of a file's document, without secrets and uploaded extensions, and says which those are.
 * @returns null if the service refuses the document; its faults are printed
 */
export async function makeTemporary(path: string, io: CommandIo): Promise<Environment | null> {
  const { client, stderr } = io
  const file = await requireFile(path)
  const id = randomUUID()
  const { name, extensions, secrets: _, ...document } = file.document
  await reportMissing(file, io)
  // The service judges the members, so odd ones are sent as they are.
  const own = Array.isArray(extensions) ? extensions.filter(entry => entry?.archive === undefined) : extensions
  const named = {
    ...document,
    name: typeof name === 'string' ? clip(`test ${id.slice(0, 8)} of ${name}`, nameCharacters) : name,
  }
  try {
    const draft = own === undefined ? named : { ...named, extensions: own }
    const { environment } = await client.call('putEnvironment', { environmentId: id, body: { document: draft } })
    await printWarnings(environment, stderr)
    return environment
  } catch (failure) {
    if (!(failure instanceof BerthError) || failure.code !== 'environment_invalid') throw failure
    await printIssues(path, failure, stderr)
    return null
  }
}

/** Names the parts that the test lacks and sandboxes of the environment itself have. */
async function reportMissing({ id, document }: EnvironmentFile, { client, stderr }: CommandIo): Promise<void> {
  const environment = id === undefined ? null : await findById(client, id)
  const secrets = environment?.secrets.map(({ name }) => name) ?? []
  const lacking = secrets.length === 0 ? 'a file holds no values' : `it lacks ${secrets.join(', ')}`
  await stderr.line(`berth: ${printableLine(`the test has no secrets: ${lacking}`)}`)
  const archives = Array.isArray(document.extensions)
    ? document.extensions.flatMap(entry => (entry?.archive === undefined ? [] : [entry.archive]))
    : []
  if (archives.length > 0) {
    const which = archives.map(archive => clip(archive, 20)).join(', ')
    await stderr.line(`berth: ${printableLine(`the test has no uploaded extensions: it lacks ${which}`)}`)
  }
}
