import { BerthError } from '@berth/client'
import type { Session } from '@berth/contract'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Resets a Session whose work is lost. If it was reset already, the command succeeds. */
export async function reset(
  sessionId: string,
  options: { readonly json?: boolean },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const session = await begin(sessionId, client)
  await stdout.line(
    options.json
      ? jsonLine(session)
      : printableLine(`session ${session.id} was reset; its next turn starts in a fresh workspace`),
  )
  return exitCode.completed
}

async function begin(sessionId: string, client: CommandIo['client']): Promise<Session> {
  try {
    return (await client.call('resetSession', { sessionId })).session
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'cloud_reset_unavailable') throw error
    // An earlier call may have reset the Session and lost its answer.
    const { session } = await client.call('getSession', { sessionId })
    if (session.continuation.state !== 'fresh') throw error
    return session
  }
}
