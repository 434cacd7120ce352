import { ForksPoolWorker, type PoolOptions, type PoolRunnerInitializer, type WorkerRequest } from 'vitest/node'

/** Files that one process runs. Loading the service anew takes 3 s of a core. */
const FILES = 50

/**
 * A process for test files that is replaced after some of them. Every spawn copies the page tables of the process, and each
 * page that it writes next faults: 400 MiB more took a third more of both cores for the same tests.
 */
class RenewedFork extends ForksPoolWorker {
  override readonly name = renewedForks.name
  #files = 0

  override send(message: WorkerRequest): void {
    if (message.type === 'run') this.#files += 1
    super.send(message)
  }

  /** Vitest asks after each file; a process that it may not use again ends. */
  canReuse(): boolean {
    return this.#files < FILES
  }
}

/** Pool of vitest. Its processes share what is loaded among a limited number of files. */
export const renewedForks: PoolRunnerInitializer = {
  name: 'renewed-forks',
  createPoolWorker: (options: PoolOptions) => new RenewedFork(options),
}
