import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { SandboxGoneError } from '../../driver.ts'
import { insideEnvironment } from '../../leases/inside-files.ts'
import { hostNames } from '../../leases/lease-files.ts'
import { withListener } from '../../leases/listener.ts'
import type { StartOrder } from '../part-names.ts'

/** Opens a name without its content; Node has no name for it. */
const O_PATH = 0o10000000
/** The unit of `ulimit -f` in every POSIX shell. */
const BLOCK_BYTES = 512

/**
 * The sandbox's first command, with its listener (3) and its journal (4).
 *
 * It runs as the user of its agent, so a name of the listener would let the agent speak as a worker. The name goes before
 * the command starts. What stays is a descriptor of the socket in this process: the kernel lets no process look at the
 * descriptors of a program that it may not read, and this one is such a program.
 */
export class FirstCommand {
  readonly #child: ChildProcess
  readonly #door: number

  private constructor(child: ChildProcess, door: number) {
    this.#child = child
    this.#door = door
    child.once('exit', () => closeSync(door))
  }

  /**
   * Starts it. A command that cannot run is one that has ended.
   * @param scratch directory that nobody else uses yet
   * @param workspace where it starts
   */
  static async start(
    { command, fileSizeBytes }: Pick<StartOrder, 'command' | 'fileSizeBytes'>,
    scratch: string,
    workspace: string,
  ): Promise<FirstCommand> {
    const own = mkdtempSync(join(scratch, '.berth-'))
    const journal = openSync(join(own, hostNames.journal), 'wx+', 0o600)
    try {
      return await withListener(own, async listener => {
        const door = openSync(join(own, hostNames.socket), O_PATH | constants.O_NOFOLLOW)
        rmSync(own, { recursive: true })
        const limit = `ulimit -c 0; ulimit -f ${Math.floor(fileSizeBytes / BLOCK_BYTES)}; exec "$@"`
        const child = spawn('/bin/sh', ['-c', limit, 'sh', ...command], {
          cwd: workspace,
          env: insideEnvironment,
          stdio: ['ignore', 'ignore', 'inherit', listener, journal],
        })
        await once(child, 'spawn')
        return new FirstCommand(child, door)
      })
    } finally {
      closeSync(journal)
    }
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** @throws SandboxGoneError if it has ended */
  async connect(signal: AbortSignal): Promise<Socket> {
    if (this.isOver) throw new SandboxGoneError('the supervisor is dead')
    const socket = connect({ path: `/proc/self/fd/${this.#door}`, allowHalfOpen: true })
    // The socket may break before the caller has it; the caller then sees a closed stream, not an uncaught error.
    socket.on('error', () => undefined)
    try {
      await once(socket, 'connect', { signal })
      return socket
    } catch (error) {
      socket.destroy()
      if (!['ECONNREFUSED', 'ECONNRESET', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
      throw new SandboxGoneError('the supervisor is dead', { cause: error })
    }
  }
}
