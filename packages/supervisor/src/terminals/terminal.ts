import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { preferForOomKill } from '../agent-process.ts'
import { descendantsOf, processesWith } from '../process-tree.ts'
import { FrameError, frameHeader, readFrames } from '../tree/frames.ts'
import {
  isTerminalSize,
  MAX_TERMINAL_FRAME_BYTES,
  SCROLLBACK_BYTES,
  type TerminalExit,
  type TerminalSize,
  type TerminalStart,
  terminalFrames,
} from './protocol.ts'
import { Scrollback } from './scrollback.ts'

const GRACE_MS = 1000
/** Marks the processes of a command, also those that have left its terminal. */
const MARK = 'BERTH_PREVIEW'
/** The shell tells the name of its terminal here: `stty` finds the terminal by it. */
const NAME_FD = 3

/**
 * A shell on a terminal of its own. Node cannot make a terminal, so `script` of util-linux does, with pipes to the
 * supervisor; `stty` changes its size by name (docs/decisions/0018-terminals-come-from-script.md).
 */
export class Terminal {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }
  readonly #env: TerminalStart['env']
  /** The variable of a command's processes; null for a shell, whose daemons go on. */
  readonly #mark: string | null
  readonly #scrollback = new Scrollback(SCROLLBACK_BYTES)
  readonly #named: Promise<string | null>
  #socket: Socket | undefined
  #exit: TerminalExit | null = null

  /** @param ended called once, when the shell has ended or could not be started */
  constructor(id: string, { env, cwd, command, ...size }: TerminalStart, ended: (failed: boolean) => void) {
    this.#env = env
    this.#mark = command === undefined ? null : `${MARK}=${id}`
    const child = spawn('script', ['-qefc', shellOn(size, command), '/dev/null'], {
      // Another shell would drop the prompt before the one that shows it.
      env: { ...env, ...(command !== undefined && { [MARK]: id }), SHELL: '/bin/sh' },
      cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    })
    const [stdin, stdout, , name] = child.stdio as unknown as [Writable, Readable, null, Readable]
    this.#child = Object.assign(child, { stdin, stdout })
    // The shell may leave its input or close its terminal at any moment; its end tells.
    for (const stream of [stdin, stdout, name]) stream.on('error', () => {})
    this.#named = nameFrom(name)
    if (child.pid !== undefined) preferForOomKill(child.pid)
    stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    const closed = (code: number | null, signal: NodeJS.Signals | null) => {
      this.#finish({ code, signal })
      ended(false)
    }
    child.once('close', closed)
    child.once('error', () => {
      // Node tells the close of a program that was never started, too; its code is no exit of a shell.
      child.off('close', closed)
      ended(true)
    })
  }

  /** The exit of the shell; null while it runs. */
  get exit(): TerminalExit | null {
    return this.#exit
  }

  get scrollback(): Buffer {
    return this.#scrollback.read()
  }

  /**
   * Gives the terminal to a connection, which the answer has been sent to. An earlier one is closed. Full-screen programs
   * draw only what has changed, so they are told of another size first, and draw everything. If the shell has ended, the
   * connection is told its last output and its exit.
   */
  attach(socket: Socket, size: TerminalSize, scrollback: Buffer): void {
    this.#socket?.destroy()
    this.#socket = socket
    socket.on('drain', () => this.#child.stdout.resume())
    socket.once('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      this.#child.stdout.resume()
    })
    if (scrollback.length > 0) this.#write(terminalFrames.output, scrollback)
    if (this.#exit !== null) this.#reportExit(this.#exit)
    // Also after the exit: keys that nobody reads would cut off the answer to the page.
    this.#listen(socket, size).catch(() => socket.destroy())
  }

  /** Ends the shell as if its window was closed; whatever withstands that is killed. */
  end(): void {
    const { pid } = this.#child
    const all = pid === undefined || this.#exit !== null ? [] : [pid, ...descendantsOf(pid)]
    for (const each of [...all, ...this.#marked()]) signal(each, 'SIGHUP')
    setTimeout(() => {
      for (const each of [...all, ...this.#marked()]) signal(each, 'SIGKILL')
    }, GRACE_MS).unref()
  }

  #marked(): readonly number[] {
    return this.#mark === null ? [] : processesWith(this.#mark)
  }

  #receive(chunk: Buffer): void {
    this.#scrollback.push(chunk)
    if (this.#socket !== undefined) this.#write(terminalFrames.output, chunk)
  }

  /** A connection that is not read holds the program back, as a terminal does; it costs no memory. */
  #write(type: number, payload: Buffer): void {
    const socket = this.#socket
    if (socket === undefined || socket.destroyed) return
    for (let at = 0; at < payload.length; at += MAX_TERMINAL_FRAME_BYTES) {
      const part = payload.subarray(at, at + MAX_TERMINAL_FRAME_BYTES)
      socket.write(frameHeader(type, part.length))
      socket.write(part)
    }
    if (socket.writableNeedDrain) this.#child.stdout.pause()
  }

  /** Reads no more than the shell takes. */
  async #listen(socket: Socket, size: TerminalSize): Promise<void> {
    await this.#resize({ ...size, rows: size.rows === 1 ? 2 : size.rows - 1 })
    await this.#resize(size)
    for await (const { type, payload } of readFrames(socket, MAX_TERMINAL_FRAME_BYTES)) {
      if (type === terminalFrames.input) await this.#type(payload, socket)
      else if (type === terminalFrames.resize) await this.#resize(sizeOf(payload))
      else throw new FrameError('not a frame of a terminal')
    }
    socket.destroy()
  }

  async #type(bytes: Buffer, socket: Socket): Promise<void> {
    const { stdin } = this.#child
    if (!stdin.writable || stdin.write(bytes)) return
    // The shell may have ended; the connection is still to be told its exit.
    await Promise.race([once(stdin, 'drain'), once(stdin, 'close'), once(socket, 'close')]).catch(() => undefined)
  }

  /** Sets the size, of which the kernel tells the program in front. */
  async #resize({ columns, rows }: TerminalSize): Promise<void> {
    const name = await this.#named
    if (name === null || this.#exit !== null) return
    const args = ['-F', name, 'rows', String(rows), 'cols', String(columns)]
    const sizing = spawn('stty', args, { env: this.#env, stdio: 'ignore' })
    await once(sizing, 'close').catch(() => undefined)
  }

  #finish(exit: TerminalExit): void {
    this.#exit = exit
    this.#reportExit(exit)
  }

  #reportExit(exit: TerminalExit): void {
    this.#write(terminalFrames.exit, Buffer.from(JSON.stringify(exit)))
    this.#socket?.end()
  }
}

/**
 * Returns the script that runs on the terminal. It tells the name last: sizes follow it. The shell is a login shell, so
 * that it reads the profile of the home.
 */
function shellOn({ columns, rows }: TerminalSize, command: string | undefined): string {
  const script = command === undefined ? '' : ` -c '${command.replaceAll("'", `'\\''`)}'`
  return `stty sane rows ${rows} cols ${columns}; tty >&${NAME_FD}; export SHELL=/bin/bash; exec bash -l${script} ${NAME_FD}>&-`
}

function sizeOf(payload: Buffer): TerminalSize {
  const size: unknown = JSON.parse(payload.toString())
  if (!isTerminalSize(size)) throw new FrameError('not the size of a terminal')
  return { columns: size.columns, rows: size.rows }
}

/** Returns the terminal's name; null if the shell never came to tell it. */
async function nameFrom(stream: Readable): Promise<string | null> {
  let text = ''
  try {
    for await (const chunk of stream) {
      text += String(chunk)
      const [, name] = /^(\/dev\/pts\/\d+)\n/.exec(text) ?? []
      if (name !== undefined) return name
      if (text.length > 100) return null
    }
  } catch {
    // The shell is gone.
  }
  return null
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // ESRCH: it has ended.
  }
}
