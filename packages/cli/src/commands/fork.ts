import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

export interface ForkOptions {
  readonly run?: string
  readonly title?: string
  readonly json?: boolean
}

/** Makes a new Session from where a Run of another one ended. */
export async function fork(
  sessionId: string,
  { run: runId, title, json }: ForkOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const { session } = await client.call('forkSession', {
    sessionId,
    body: {
      ...(runId !== undefined && { runId }),
      ...(title !== undefined && { title }),
    },
  })
  if (json) await stdout.line(jsonLine(session))
  else
    await stdout.line(`session ${printableLine(session.id)} ${stdout.paint('dim', printableLine(session.sessionUrl))}`)
  return exitCode.completed
}
