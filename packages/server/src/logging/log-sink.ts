import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { promisify } from 'node:util'

const writeTo = promisify(write)

/** A terminal that was stopped takes nothing; it is tried again this often. */
const stoppedTerminalMs = 50

/** Where a process writes its log. No write blocks the event loop or, forever, a thread that the exit would wait for. */
export interface LogSink {
  /**
   * Writes bytes and answers how many were taken; fewer than all only after an error.
   * @throws the system's error when none was taken
   */
  write(bytes: Buffer): Promise<number>
  /** Writes as much as is taken at once. */
  writeNow(bytes: Buffer): void
  /** Gives up whatever is still being written. */
  destroy(): void
}

/** The sink for a descriptor that the process was started with. */
export function openLogSink(descriptor: number): LogSink {
  const kind = fstatSync(descriptor)
  if (kind.isFIFO() || kind.isSocket()) return new SocketSink(descriptor)
  return new FileSink(isatty(descriptor) ? openTerminal(descriptor) : descriptor)
}

/**
 * A pipe or socket, written through the event loop. `write(2)` on a thread would block it for as long as the reader reads
 * nothing, and the process could not exit.
 */
class SocketSink implements LogSink {
  readonly #descriptor: number
  readonly #socket: Socket

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true })
    // Every failed write also rejects.
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

/** A file, a device or a terminal. */
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
    // The process exits: nobody is left to tell.
  }
}

/** The terminal once more, for this process alone and without blocking: Ctrl-S must stop the output, not the process. */
function openTerminal(descriptor: number): number {
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return descriptor
  }
}
