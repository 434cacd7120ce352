import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'

const READ_BYTES = 64 * 1024
/** More than any pipe holds, so only a writer that keeps writing is cut off. */
const MAX_DRAIN_BYTES = 2 * 1024 * 1024

/**
 * One pipe for a script's stdout and stderr together, so that their order is the order of writing.
 *
 * It is a FIFO, not what Node makes for a child: that is a socket, and programs that open `/dev/stdout` or
 * `/dev/stderr` anew fail on a socket.
 */
export class OutputPipe implements Disposable {
  /** For the child's stdout and stderr; close it here once the child has it, else the end never comes. */
  readonly writeFd: number
  readonly #readFd: number
  readonly #socket: Socket
  readonly #ended = Promise.withResolvers<void>()
  #sink: ((chunk: Buffer) => void) | undefined
  #open = true

  constructor(directory: string, sink: (chunk: Buffer) => void) {
    const path = join(directory, 'output')
    execFileSync('mkfifo', ['-m', '600', path])
    this.#readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    this.writeFd = openSync(path, constants.O_WRONLY)
    this.#sink = sink
    this.#socket = new Socket({ fd: this.#readFd, readable: true, writable: false })
    this.#socket.on('data', chunk => this.#sink?.(chunk))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.#open = false
      this.#ended.resolve()
    })
  }

  /** Fulfilled when no process holds the pipe for writing any more and all was read. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  closeWriteEnd(): void {
    closeSync(this.writeFd)
  }

  /**
   * Reads what is in the pipe now, then listens no more. A process left in the background may go on writing: its
   * output is thrown away, for closing the pipe would end that process by SIGPIPE.
   */
  [Symbol.dispose](): void {
    const buffer = Buffer.alloc(READ_BYTES)
    for (let drained = 0; this.#open && drained < MAX_DRAIN_BYTES; ) {
      let bytes = 0
      try {
        bytes = readSync(this.#readFd, buffer)
      } catch {
        // EAGAIN: empty.
      }
      if (bytes === 0) break
      this.#sink?.(buffer.subarray(0, bytes))
      drained += bytes
    }
    this.#sink = undefined
    this.#socket.unref()
  }
}
