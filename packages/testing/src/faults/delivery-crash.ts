import type { Readable } from 'node:stream'
import type { DeliveryContext } from '@berth/core/delivery/delivery-context.ts'
import { type GitHost, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { Hosts } from '@berth/core/hosts/hosts.ts'
import { type Blobs, BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import type { Database, Result, Statement } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import type { ProgramRun } from '@berth/sandboxes/lease-program.ts'
import type { CrashMode } from './crash-point.ts'

/**
 * Wraps the dependencies of one delivering worker so that it dies, or fails once, at one step. Every call that touches
 * something outside the worker is a step. After the death no call gets through.
 */
export class DeliveryCrash {
  /** Names of the steps so far, in order. */
  readonly steps: string[] = []
  readonly #at: number
  readonly #mode: CrashMode
  readonly #death = new AbortController()

  /**
   * Sets the step at which the fault strikes.
   * @param at number of the step, from 1; 0 for none
   */
  constructor(at: number, mode: CrashMode) {
    this.#at = at
    this.#mode = mode
  }

  get struck(): boolean {
    return this.steps.length >= this.#at
  }

  /** Aborts the work that this process does for a dead worker. */
  get signal(): AbortSignal {
    return this.#death.signal
  }

  world(context: DeliveryContext): DeliveryContext {
    const broken = () => new Error('struck')
    return {
      ...context,
      db: this.#database(context.db),
      blobs: this.#blobs(context.blobs),
      hosts: new Hosts(context.hosts.held().map(host => ({ ...host, driver: this.#driver(host.driver) }))),
      sources: {
        find: async key => {
          const source = await context.sources.find(key)
          return source === null || source === 'revoked' ? source : { ...source, host: this.#host(source.host) }
        },
        mirror: (source, signal) => this.#step('mirror', broken, () => context.sources.mirror(source, signal)),
      },
    }
  }

  #driver(real: SandboxDriver): SandboxDriver {
    const broken = () => new Error('struck')
    return {
      ...real,
      run: async (leaseId, program) => {
        let started: ProgramRun | undefined
        const start = async () => (started = await real.run(leaseId, program))
        return this.#step('run a program', broken, start).catch(error => {
          started?.kill()
          throw error
        })
      },
    }
  }

  async #step<T>(name: string, refusal: () => Error, work: () => Promise<T>): Promise<T> {
    this.#death.signal.throwIfAborted()
    const struck = this.steps.push(name) === this.#at
    if (struck && this.#mode === 'fails') throw refusal()
    const result = await work()
    if (struck && this.#mode === 'unanswered') throw refusal()
    if (struck) this.#death.abort(new Error('the worker is dead'))
    this.#death.signal.throwIfAborted()
    return result
  }

  #database(real: Database): Database {
    const away = () => new DatabaseUnavailable(new Error('struck'))
    return {
      ...(real.masterKey !== undefined && { masterKey: real.masterKey }),
      query: <Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>> => {
        const text = typeof statement === 'string' ? statement : statement.text
        const ask = () => (values === undefined ? real.query<Row>(statement) : real.query<Row>(statement, values))
        if (text.trimStart().startsWith('update')) return this.#step('record', away, ask)
        this.#death.signal.throwIfAborted()
        return ask()
      },
      transaction: (work, options) => this.#step('commit', away, () => real.transaction(work, options)),
    }
  }

  #blobs(real: Blobs): Blobs {
    const away = () => new BlobsUnavailable(new Error('struck'))
    return {
      ...real,
      put: content => this.#step('put a blob', away, () => real.put(content)),
      get: async sha256 => {
        let opened: Readable | undefined
        const read = async () => (opened = await real.get(sha256))
        return this.#step('read a blob', away, read).catch(error => {
          opened?.destroy()
          throw error
        })
      },
    }
  }

  #host(real: GitHost): GitHost {
    const away = () => new GitHostError('unavailable', 'struck')
    const step = <T>(name: string, work: () => Promise<T>) => this.#step(name, away, work)
    const { signing } = real
    return {
      id: real.id,
      kind: real.kind,
      ...(signing && {
        signing: {
          makeCommit: (ref, commit, signal) => step('make the commit', () => signing.makeCommit(ref, commit, signal)),
        },
      }),
      readAccount: (account, signal) => real.readAccount(account, signal),
      listRepositories: (account, page, signal) => real.listRepositories(account, page, signal),
      readRepository: (ref, signal) => real.readRepository(ref, signal),
      readBranch: (ref, branch, signal) => step('read a branch', () => real.readBranch(ref, branch, signal)),
      readUnbornBranch: (ref, branch, signal) =>
        step('read an unborn branch', () => real.readUnbornBranch(ref, branch, signal)),
      readChecks: (ref, pull, signal) => real.readChecks(ref, pull, signal),
      listBranches: (ref, names, signal) => real.listBranches(ref, names, signal),
      access: (ref, right, signal) => step(`get access to ${right}`, () => real.access(ref, right, signal)),
      findOpenPull: (ref, of, signal) => step('look for a pull request', () => real.findOpenPull(ref, of, signal)),
      openPull: (ref, pull, signal) => step('open a pull request', () => real.openPull(ref, pull, signal)),
      readPull: (ref, number, signal) => step('read the pull request', () => real.readPull(ref, number, signal)),
      describePull: (ref, number, body, signal) =>
        step('describe the pull request', () => real.describePull(ref, number, body, signal)),
      mergePull: (ref, order, signal) => step('merge', () => real.mergePull(ref, order, signal)),
    }
  }
}
