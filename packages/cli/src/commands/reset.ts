import { BerthError } from '@berth/client'
import type { Session } from '@berth/contract'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Begins a Session afresh whose work is lost. One that is fresh already is no failure. */
export async function reset(
  sessionId: string,
  options: { readonly json?: boolean },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const session = await begin(sessionId, client)
  await stdout.line(options.json ? jsonLine(session) : printableLine(`session ${session.id} begins afresh`))
  return exitCode.completed
}

async function begin(sessionId: string, client: CommandIo['client']): Promise<Session> {
  try {
    return (await client.sessions.reset(sessionId)).session
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'cloud_reset_unavailable') throw error
    // The answer to a call that did it may have been lost.
    const { session } = await client.sessions.get(sessionId)
    if (session.continuation.state !== 'fresh') throw error
    return session
  }
}
