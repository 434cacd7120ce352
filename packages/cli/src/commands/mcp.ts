import { serveOverStdio } from '@berth/mcp'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printableLine } from '../terminal-text.ts'

/** Serves Berth's tools to an agent on standard input and output, until the agent closes them. */
export async function mcp({ client, connection, stderr }: CommandIo): Promise<ExitCode> {
  const caller = { client, isPerson: connection.origin.kind === 'profile' }
  // Standard output carries the protocol alone.
  await serveOverStdio(caller, failure => void stderr.line(`berth: ${printableLine(failure.message)}`).catch(() => {}))
  return exitCode.completed
}
