import type { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { bindSupervisor, PREPARE_MS, prepareSupervisor } from '../../leases/ready-supervisor.ts'
import type { ReadyOrder, StartOrder } from '../part-names.ts'
import { killAll } from './container-processes.ts'
import { FirstCommand } from './first-command.ts'

/**
 * The sandbox's first command before the pod has its lease: the supervisor is up, and its agent has answered its first line.
 * Both end with this process, which holds the connection that they wait on.
 */
export class ReadyCommand {
  readonly #order: ReadyOrder
  readonly #command: FirstCommand
  readonly #line: Socket

  private constructor(order: ReadyOrder, command: FirstCommand, line: Socket) {
    this.#order = order
    this.#command = command
    this.#line = line
  }

  /**
   * Starts it, as `FirstCommand.start` does.
   * @throws Error if it does not become ready; then nothing of it is left
   */
  static async start(order: ReadyOrder, scratch: string, workspace: string): Promise<ReadyCommand> {
    try {
      const command = await FirstCommand.start(order, scratch, workspace)
      const line = await command.connect(AbortSignal.timeout(PREPARE_MS))
      await prepareSupervisor(line, order.agent)
      return new ReadyCommand(order, command, line)
    } catch (error) {
      await killAll()
      throw error
    }
  }

  /** Whether it can still be bound. */
  get stands(): boolean {
    return !this.#command.isOver && !this.#line.destroyed
  }

  /**
   * Returns the command for the lease, if the order would start the same. Otherwise it ends the command, and nothing is
   * left of it: this container has no other processes yet.
   */
  async become({ command, fileSizeBytes, isPlain }: StartOrder): Promise<FirstCommand | undefined> {
    const { command: own, fileSizeBytes: ownBytes } = this.#order
    if (isPlain && this.stands && fileSizeBytes === ownBytes && isDeepStrictEqual([...command], [...own])) {
      try {
        await bindSupervisor(this.#line)
        return this.#command
      } catch (error) {
        console.error('berth: a supervisor that stood ready could not be used:', error)
      }
    }
    this.#line.destroy()
    await killAll()
    return undefined
  }
}
