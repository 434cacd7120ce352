import { type ExitCode, exitCode } from '../exit-code.ts'

/** How a terminal has ended for this window, as the service says it. */
export interface TerminalEnd {
  readonly reason: 'exited' | 'closed' | 'failed' | 'workspace_lost' | 'access_ended' | 'moved' | 'protocol' | 'left'
  /** The exit code of the shell; null if nobody knows it. */
  readonly code: number | null
}

/** The service's codes for a terminal that is gone. */
export const goneBy: ReadonlyMap<string, TerminalEnd['reason']> = new Map([
  ['cloud_terminal_not_found', 'exited'],
  ['cloud_workspace_expired', 'workspace_lost'],
  ['cloud_session_not_found', 'access_ended'],
])

/** Returns why a terminal ended, in words; null if its exit code tells. */
export function endText({ reason, code }: TerminalEnd, { sessionId, terminalId }: TerminalName): string | null {
  const again = `berth shell ${sessionId} --terminal ${terminalId}`
  switch (reason) {
    case 'exited':
      return code === null ? 'the shell has ended, and its exit code is not known' : null
    case 'closed':
      return 'the terminal was ended'
    case 'failed':
      return 'the sandbox could not make a terminal'
    case 'workspace_lost':
      return `the sandbox is gone, and its terminals with it; its files are kept: \`berth shell ${sessionId} --restore\` brings them back`
    case 'access_ended':
      return 'you are signed out, or have no access to this session any more'
    case 'moved':
      return `another window has this terminal now; \`${again}\` takes it back`
    case 'protocol':
      return `the connection broke off; the terminal goes on: \`${again}\``
    case 'left':
      return `you have left the terminal, which goes on; return with \`${again}\``
  }
}

interface TerminalName {
  readonly sessionId: string
  readonly terminalId: string
}

/** Returns the exit code of the process: that of the shell, if it ended by itself. */
export function endCode({ reason, code }: TerminalEnd): ExitCode | number {
  if (reason === 'left') return exitCode.completed
  return reason === 'exited' ? (code ?? exitCode.failed) : exitCode.failed
}
