import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Lists the deployment's agents, with the reason if one is not available. */
export async function listRuntimes(options: { json?: boolean }, { client, stdout }: CommandIo): Promise<ExitCode> {
  const { runtimes } = await client.call('listRuntimes')
  for (const runtime of runtimes) {
    const { id, name, version, available, reason } = runtime
    const state = available ? 'available' : (reason ?? 'not available')
    await stdout.line(
      options.json ? jsonLine(runtime) : printableLine(`${id.padEnd(14)}  ${name} ${version ?? ''}`.padEnd(40) + state),
    )
  }
  return exitCode.completed
}
