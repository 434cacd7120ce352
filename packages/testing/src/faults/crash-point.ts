import type { Readable } from 'node:stream'
import { type Blobs, BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import type { Database, Result, Statement } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import type { ProgramRun } from '@berth/sandboxes/lease-program.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'

/**
 * `dies`: the worker is gone after the step. `fails`: the step is refused once, and the worker lives. `unanswered`: the
 * step succeeds, but the worker, which lives, is told that it failed.
 */
export type CrashMode = 'dies' | 'fails' | 'unanswered'

/** Steps are counted from the first one with this name. */
export type CrashPhase = 'seal' | 'restore'

/**
 * Wraps a worker's dependencies so that it dies, or fails once, at one step. Every call that touches something outside
 * the worker is a step. After the death no call gets through, as if the process had been killed.
 */
export class CrashPoint {
  /** Names of the steps so far, in order. */
  readonly steps: string[] = []
  readonly #phase: CrashPhase | 'apply'
  readonly #at: number
  readonly #mode: CrashMode
  readonly #death = new AbortController()
  #counting: boolean

  /**
   * Sets the step at which the fault strikes.
   * @param phase `apply`: everything from the beginning of the Run's work on
   * @param at number of the step, from 1; 0 for none
   */
  constructor(phase: CrashPhase | 'apply', at: number, mode: CrashMode) {
    this.#phase = phase
    this.#at = at
    this.#mode = mode
    this.#counting = phase !== 'seal'
  }

  /** True if the worker has reached the step. */
  get struck(): boolean {
    return this.steps.length >= this.#at
  }

  /** Aborts the work that this process does for a dead worker. */
  get signal(): AbortSignal {
    return this.#death.signal
  }

  /** Lets the worker die now. */
  die(): void {
    this.#death.abort(new Error('the worker is dead'))
  }

  world(context: ExecutionContext): ExecutionContext {
    return {
      ...context,
      db: this.#database(context.db),
      blobs: this.#blobs(context.blobs),
      driver: this.#driver(context.driver),
    }
  }

  async #step<T>(name: string, refusal: () => Error, work: () => Promise<T>): Promise<T> {
    this.#death.signal.throwIfAborted()
    // Timing decides into how many commits the agent's last messages fall, so consecutive commits count as one step.
    const more = this.#phase === 'seal' && name === 'commit' && this.steps.at(-1) === name
    if (!this.#counting || more) return work()
    const struck = this.steps.push(name) === this.#at
    if (struck && this.#mode === 'fails') throw refusal()
    const result = await work()
    if (struck && this.#mode === 'unanswered') throw refusal()
    if (struck) this.#death.abort(new Error('the worker is dead'))
    this.#death.signal.throwIfAborted()
    return result
  }

  #database(real: Database): Database {
    return {
      masterKey: real.masterKey,
      query: async <Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>> => {
        this.#death.signal.throwIfAborted()
        return values === undefined ? real.query<Row>(statement) : real.query<Row>(statement, values)
      },
      transaction: (work, options) =>
        this.#step(
          'commit',
          () => new DatabaseUnavailable(new Error('struck')),
          () => real.transaction(work, options),
        ),
    }
  }

  #blobs(real: Blobs): Blobs {
    const away = () => new BlobsUnavailable(new Error('struck'))
    return {
      put: content => this.#step('put a blob', away, () => real.put(content)),
      get: async sha256 => {
        let opened: Readable | undefined
        const read = async () => (opened = await real.get(sha256))
        return this.#step('read a blob', away, read).catch(error => {
          opened?.destroy()
          throw error
        })
      },
      stat: sha256 => this.#step('look for a blob', away, () => real.stat(sha256)),
      has: (sha256, sizeBytes) => this.#step('look for a blob', away, () => real.has(sha256, sizeBytes)),
      delete: sha256 => real.delete(sha256),
    }
  }

  #driver(real: SandboxDriver): SandboxDriver {
    const broken = () => new Error('struck')
    return {
      ...real,
      create: spec => this.#step('make the sandbox', broken, () => real.create(spec)),
      hasDirectory: (leaseId, tree, names) => {
        if (this.#phase === 'seal') this.#counting = true
        return this.#step('look for an outbox', broken, () => real.hasDirectory(leaseId, tree, names))
      },
      run: async (leaseId, program) => {
        let started: ProgramRun | undefined
        const start = async () => (started = await real.run(leaseId, program))
        return this.#step('run a program', broken, start).catch(error => {
          started?.kill()
          throw error
        })
      },
      settleBaseline: (...parts) => this.#step('settle a baseline', broken, () => real.settleBaseline(...parts)),
      freeze: leaseId => this.#step('freeze the sandbox', broken, () => real.freeze(leaseId)),
      // The Run's watchdog also calls this, at its own pace, so the call is no step.
      thaw: async leaseId => {
        this.#death.signal.throwIfAborted()
        return real.thaw(leaseId)
      },
      attach: async (leaseId, signal) => {
        this.#death.signal.throwIfAborted()
        if (this.#phase === 'restore') this.#counting = false
        return real.attach(leaseId, signal)
      },
    }
  }
}
