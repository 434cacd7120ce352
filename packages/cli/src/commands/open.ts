import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { openBrowser } from '../sign-in/open-browser.ts'
import { printableLine } from '../terminal-text.ts'

/** Opens the page of a Session, and prints its address. */
export async function open(
  sessionId: string,
  env: NodeJS.ProcessEnv,
  { client, stdout }: Pick<CommandIo, 'client' | 'stdout'>,
): Promise<ExitCode> {
  const { session } = await client.call('getSession', { sessionId })
  if (stdout.isTerminal) openBrowser(session.sessionUrl, env)
  await stdout.line(printableLine(session.sessionUrl))
  return exitCode.completed
}
