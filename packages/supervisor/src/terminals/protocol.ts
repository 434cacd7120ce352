/**
 * The protocol of terminals, over connections of their own to the lease's socket. The first line of such a connection is
 * `{"terminal":TerminalOrder}`. The supervisor answers with one line, a `TerminalAnswer`, and closes the connection unless
 * it answers `attached`. Frames follow then in both directions, as `tree/frames.ts` cuts them; a caller sends none before
 * the answer.
 *
 * A terminal lives until its shell ends, until it is ended or until the sandbox goes. It has at most one connection: a
 * later one takes the place of the earlier. Without a connection its output goes to its scrollback alone. Of a shell that
 * has ended by itself, a later connection is still told the scrollback and the exit, until 16 others have ended since.
 * `read` answers with the end of the scrollback, and takes the place of no connection.
 */
export type TerminalOrder = {
  /** 1-64 letters, digits, `-` or `_`. */
  readonly id: string
} & (
  | { readonly start: TerminalStart }
  | { readonly attach: TerminalSize }
  | { readonly read: true }
  /** Ends the shell with everything that belongs to its terminal. It is never started again, also if it was not yet. */
  | { readonly end: true }
)

/** How a terminal's shell is started. Starting a terminal that is there changes nothing. */
export interface TerminalStart extends TerminalSize {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** A bash script to run in place of an interactive shell. What it leaves in the background ends with the terminal, too. */
  readonly command?: string
}

/** Each at least 1 and at most `MAX_TERMINAL_CELLS`. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/**
 * `too_many`: the sandbox has `MAX_TERMINALS`. `no_program`: it lacks `script`, which makes the terminal. `unknown`: no
 * such terminal, its shell has ended long ago, or one that was ended is to be started.
 */
export type TerminalAnswer =
  | { readonly terminal: 'started' | 'ended' | 'unknown' | 'too_many' | 'no_program' }
  /** The last `MAX_READ_BYTES` of output; `exit` is null while the shell runs. */
  | { readonly terminal: 'output'; readonly output: string; readonly exit: TerminalExit | null }
  | {
      readonly terminal: 'attached'
      /** Number of bytes of output that follow first, although they are old. */
      readonly scrollback: number
    }

/** Types of frames: output and the end of the shell from the supervisor; input and sizes to it. */
export const terminalFrames = { output: 0x6f, exit: 0x78, input: 0x69, resize: 0x72 } as const

/** The payload of an `exit` frame, which is the last one. */
export interface TerminalExit {
  readonly code: number | null
  readonly signal: string | null
}

/** More than people may open: some may be ending. */
export const MAX_TERMINALS = 16
export const MAX_TERMINAL_CELLS = 1000
/** Output that a new connection gets again. */
export const SCROLLBACK_BYTES = 256 * 1024
/** Output that `read` is answered with. */
export const MAX_READ_BYTES = 8 * 1024
/** Longest frame in either direction. */
export const MAX_TERMINAL_FRAME_BYTES = 256 * 1024

/** Returns whether a value is the size of a terminal. */
export function isTerminalSize(value: unknown): value is TerminalSize {
  if (typeof value !== 'object' || value === null) return false
  const { columns, rows } = value as Partial<TerminalSize>
  return [columns, rows].every(
    cells => Number.isInteger(cells) && Number(cells) >= 1 && Number(cells) <= MAX_TERMINAL_CELLS,
  )
}
