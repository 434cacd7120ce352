import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { findNamedOrFiled } from '../environments/find-environment.ts'
import type { FileOption } from '../environments/pull.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

export interface UploadOptions extends FileOption {
  readonly environment?: string
}

/** Uploads the archive of an extension to an environment, and prints the entry for its document. */
export async function upload(
  path: string,
  { environment, file, json }: UploadOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const content = await readFile(path).catch(cause => {
    throw new UsageError(`cannot read ${path}: ${cause.message}`)
  })
  const { id, name } = await findNamedOrFiled(client, environment, file)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const { archive } = await client.call('uploadEnvironmentArchive', { environmentId: id, sha256, body: content })
  if (json) await stdout.line(jsonLine({ archive }))
  else {
    const { extension } = archive
    await stdout.line(
      printableLine(`uploaded ${extension.name} ${extension.version} to ${name}; its document names it as`),
    )
    await stdout.line(printableLine(JSON.stringify({ archive: archive.archive })))
  }
  return exitCode.completed
}
