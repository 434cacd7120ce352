import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printTable } from '../table.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Lists the extensions that the operator offers. */
export async function listExtensions(options: { json?: boolean }, io: CommandIo): Promise<ExitCode> {
  const { client, stdout, stderr } = io
  const { extensions, missing = [] } = await client.call('listExtensions')
  if (options.json) for (const extension of extensions) await stdout.line(jsonLine(extension))
  else {
    const rows = extensions.map(({ slug, version, name, newest }) => [
      slug,
      version,
      newest === undefined ? name : `${name} (${newest} needs a newer platform)`,
    ])
    await printTable(['slug', 'version', 'name'], rows, stdout)
  }
  for (const { slug, reason } of missing)
    await stderr.line(printableLine(`the extension ${slug} cannot be had now (${reason})`))
  return exitCode.completed
}
