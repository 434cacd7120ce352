import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'

const READ_BYTES = 64 * 1024
/** More than any pipe holds, so only a writer that keeps writing is cut off. */
const MAX_DRAIN_BYTES = 2 * 1024 * 1024

/**
 * One pipe for both stdout and stderr of a script, which keeps their order.
 *
 * It is a FIFO, because Node gives a child a socket, and programs that open `/dev/stdout` or `/dev/stderr` by name fail
 * on a socket.
 */
export class OutputPipe implements Disposable {
  /** For the child's stdout and stderr. Close it here once the child has it, or the pipe never ends. */
  readonly writeFd: number
  readonly #path: string
  readonly #readFd: number
  readonly #socket: Socket
  readonly #ended = Promise.withResolvers<void>()
  #sink: ((chunk: Buffer) => void) | undefined
  #open = true

  constructor(directory: string, sink: (chunk: Buffer) => void) {
    const path = join(directory, 'output')
    execFileSync('mkfifo', ['-m', '600', path])
    this.#path = path
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

  /** Resolves when no process holds the pipe open for writing and everything was read. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  closeWriteEnd(): void {
    closeSync(this.writeFd)
  }

  /**
   * Starts a process that reads the pipe until no process holds it open for writing. So processes that a script leaves
   * running can go on writing after this process has ended: they are neither killed by SIGPIPE nor blocked.
   */
  leaveReader(): void {
    // A file description of its own, which blocks. It opens at once, because the pipe has a writer meanwhile.
    const writer = openSync(this.#path, constants.O_WRONLY | constants.O_NONBLOCK)
    const reader = openSync(this.#path, constants.O_RDONLY)
    closeSync(writer)
    spawn('cat', { detached: true, stdio: [reader, 'ignore', 'ignore'] }).unref()
    closeSync(reader)
  }

  /**
   * Reads the current content of the pipe, then stops listening. A background process may go on writing; its output is
   * discarded, because closing the pipe would kill that process with SIGPIPE.
   */
  [Symbol.dispose](): void {
    const buffer = Buffer.alloc(READ_BYTES)
    for (let drained = 0; this.#open && drained < MAX_DRAIN_BYTES; ) {
      let bytes = 0
      try {
        bytes = readSync(this.#readFd, buffer)
      } catch {
        // EAGAIN: the pipe is empty.
      }
      if (bytes === 0) break
      this.#sink?.(buffer.subarray(0, bytes))
      drained += bytes
    }
    this.#sink = undefined
    this.#socket.unref()
  }
}
