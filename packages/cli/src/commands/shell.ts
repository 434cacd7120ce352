import { BerthError } from '@berth/client'
import type { ExitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { AfterMark, typedCommand } from '../shell/command-line.ts'
import { DetachKeys } from '../shell/detach-keys.ts'
import { endCode, endText } from '../shell/terminal-end.ts'
import { TerminalLink } from '../shell/terminal-link.ts'
import { Window } from '../shell/window.ts'
import { printableLine } from '../terminal-text.ts'
import { attachWorkspace } from './lapsed-workspace.ts'

export interface ShellOptions {
  readonly terminal?: string
  readonly restore?: boolean
}

/** The byte that ends the input of a program that reads a terminal. */
const endOfInput = Uint8Array.of(0x04)

/** Opens a terminal in the sandbox of a Session, and returns the exit code of its shell or command. */
export async function shell(
  sessionId: string,
  typed: readonly string[],
  options: ShellOptions,
  io: CommandIo,
): Promise<ExitCode | number> {
  const { client, stdin, stdout, stderr, connection } = io
  if (connection.origin.kind === 'key') {
    throw new UsageError(
      'a terminal is for people, and this is an API key: sign in with `berth login`, and leave BERTH_API_KEY out',
    )
  }
  if (typed.length > 0 && options.terminal !== undefined) {
    throw new UsageError('--terminal returns to a shell, so it takes no command')
  }
  const command = typed.length === 0 ? null : typedCommand(typed)
  const output = command && new AfterMark(command.mark)
  if (options.restore) await attachWorkspace(sessionId, io)
  const started = Promise.withResolvers<void>()
  const window = new Window(io, output, started.resolve)
  const link = new TerminalLink({
    client,
    sessionId,
    terminalId: options.terminal,
    screen: window,
    sleep: (ms, signal) => client.platform.sleep(ms, signal),
  })
  const running = link.run().catch(failure => {
    throw explained(failure, sessionId)
  })
  // A refusal ends the wait for the first prompt; it is reported below.
  await Promise.race([started.promise, running]).catch(() => {})
  if (command !== null) link.type(Buffer.from(command.line))
  using _keys = stdin.isTTY ? readKeys(stdin, link) : readPipe(stdin, link, output?.past)
  using _sizes = stdout.onResize(() => link.resize())
  const end = await running
  if (end.reason !== 'exited') await window.plain()
  const text = endText(end, { sessionId: printableLine(sessionId), terminalId: link.terminalId })
  if (text !== null) await stderr.line(`berth: ${text}`)
  return endCode(end)
}

/** Passes on every key of this window as it is pressed. */
function readKeys(stdin: NodeJS.ReadStream, link: TerminalLink): Disposable {
  const detach = new DetachKeys()
  const listen = (typed: Buffer) => {
    const { bytes, leaves } = detach.read(typed)
    if (bytes.length > 0) link.type(bytes)
    if (leaves) link.leave()
  }
  const leave = () => link.leave()
  stdin.setRawMode(true)
  stdin.on('data', listen).on('end', leave)
  return {
    [Symbol.dispose]() {
      stdin.off('data', listen).off('end', leave).setRawMode(false).pause()
    },
  }
}

/**
 * Passes on piped input, and its end. A command has to be there first: its shell's line editor would keep the end of
 * the input as a key.
 */
function readPipe(stdin: NodeJS.ReadStream, link: TerminalLink, begun: Promise<void> | undefined): Disposable {
  const pass = async () => {
    await begun
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      link.type(chunk)
      await link.drained()
    }
    link.type(endOfInput)
  }
  // A standard input that cannot be read has ended.
  pass().catch(() => link.type(endOfInput))
  return { [Symbol.dispose]: () => void stdin.destroy() }
}

/** Explains why a terminal cannot be opened, and names a way on. */
function explained(failure: unknown, sessionId: string): unknown {
  if (!(failure instanceof BerthError)) return failure
  const session = printableLine(sessionId)
  switch (failure.code) {
    case 'cloud_workspace_expired':
      return new Error(
        `the session has no sandbox now; \`berth shell ${session} --restore\` brings its workspace back (${failure.code})`,
      )
    case 'cloud_workspace_starting':
      return new Error(`the sandbox is being made; try again in a moment (${failure.code})`)
    case 'cloud_terminal_not_found':
      return new Error(`that terminal has ended; \`berth shell ${session}\` opens another (${failure.code})`)
    case 'cloud_terminal_limit_reached':
      return new Error(`the sandbox has as many terminals as it may; close one (${failure.code})`)
    case 'cloud_terminal_unavailable':
      return new Error(`the sandbox is on a machine that this service does not reach (${failure.code})`)
    default:
      return failure
  }
}
