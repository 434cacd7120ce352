import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { promisify } from 'node:util'

const writeTo = promisify(write)

/** Retry interval for a terminal that was stopped with Ctrl-S and takes no output. */
const stoppedTerminalMs = 50

/** The destination of a process's log. No write blocks the event loop, or for ever a thread that the exit waits for. */
export interface LogSink {
  /**
   * Writes bytes and returns how many were taken; fewer than all only after an error.
   * @throws the system's error if none were taken
   */
  write(bytes: Buffer): Promise<number>
  /** Writes as many bytes as are taken at once. */
  writeNow(bytes: Buffer): void
  /** Gives up writes in progress. */
  destroy(): void
}

/** Opens the sink for a descriptor that the process was started with. */
export function openLogSink(descriptor: number): LogSink {
  const kind = fstatSync(descriptor)
  if (kind.isFIFO() || kind.isSocket()) return new SocketSink(descriptor)
  return new FileSink(isatty(descriptor) ? openTerminal(descriptor) : descriptor)
}

/**
 * Writes to a pipe or socket through the event loop. `write(2)` on a thread would block the thread while the reader
 * does not read, and the process could not exit.
 */
class SocketSink implements LogSink {
  readonly #descriptor: number
  readonly #socket: Socket

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true })
    // Every failed write also rejects its promise.
    this.#socket.on('error', () => {})
  }

  write(bytes: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, error => (error ? reject(error) : resolve(bytes.length)))
    })
  }

  writeNow(bytes: Buffer): void {
    if (!this.#socket.destroyed) tryWrite(this.#descriptor, bytes)
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** Writes to a file, a device or a terminal. */
class FileSink implements LogSink {
  readonly #descriptor: number
  #destroyed = false

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  async write(bytes: Buffer): Promise<number> {
    let written = 0
    while (written < bytes.length) {
      try {
        const { bytesWritten } = await writeTo(this.#descriptor, bytes, written)
        written += bytesWritten
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN' && !this.#destroyed) {
          await sleep(stoppedTerminalMs)
        } else if (written === 0) {
          throw error
        } else {
          return written
        }
      }
    }
    return written
  }

  writeNow(bytes: Buffer): void {
    tryWrite(this.#descriptor, bytes)
  }

  destroy(): void {
    this.#destroyed = true
  }
}

function tryWrite(descriptor: number, bytes: Buffer): void {
  try {
    writeSync(descriptor, bytes)
  } catch {
    // The process is exiting, and no one is left to tell.
  }
}

/** Reopens the terminal for this process alone, without blocking: Ctrl-S must stop the output, not the process. */
function openTerminal(descriptor: number): number {
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return descriptor
  }
}
