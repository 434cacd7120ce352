import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printTable } from '../table.ts'
import { jsonLine } from '../terminal-text.ts'

/** Lists the extensions that the operator offers. */
export async function listExtensions(options: { json?: boolean }, { client, stdout }: CommandIo): Promise<ExitCode> {
  const { extensions } = await client.call('listExtensions')
  if (options.json) for (const extension of extensions) await stdout.line(jsonLine(extension))
  else {
    const rows = extensions.map(({ slug, version, name, newest }) => [
      slug,
      version,
      newest === undefined ? name : `${name} (${newest} needs a newer platform)`,
    ])
    await printTable(['slug', 'version', 'name'], rows, stdout)
  }
  return exitCode.completed
}
