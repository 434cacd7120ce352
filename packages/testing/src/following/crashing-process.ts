import type { DeliveryContext } from '@berth/core/delivery/delivery-context.ts'
import { type GitHost, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { followQueue } from '@berth/core/sessions/following/follow-queue.ts'
import { mergeQueue } from '@berth/core/sessions/merges/merge-queue.ts'
import type { Database, Result, Statement } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { CrashMode } from '../faults/crash-point.ts'
import { silentLog } from '../services/log.ts'
import { oidOf, type PlayedPulls } from './played-pulls.ts'

/** How long a claim of a played process stands, by the test's clock. */
const CLAIM_MS = 30_000

/** The steps at which a process may be struck: what it asks of the host, and what it writes. */
export const strikable = ['observe', 'read a log', 'reply', 'find a comment', 'comment', 'record', 'commit'] as const

/** Where and how a process is struck: at the `at`-th step of a name, from 1 on. */
export interface Strike {
  readonly on: (typeof strikable)[number]
  readonly at: number
  readonly mode: CrashMode
}

/** One process that follows pull requests of a played host, and dies or fails once at one step. */
export class CrashingProcess {
  readonly #world: DeliveryContext
  readonly #pulls: PlayedPulls
  readonly #clock: () => Date
  readonly #strike: Strike | null
  readonly #death = new AbortController()
  #steps = 0

  constructor(db: Database, pulls: PlayedPulls, clock: () => Date, strike: Strike | null) {
    this.#pulls = pulls
    this.#clock = clock
    this.#strike = strike
    this.#world = this.#worldOf(db)
  }

  get isStruck(): boolean {
    return this.#strike !== null && this.#steps >= this.#strike.at
  }

  /** Works off what is due, once. */
  async work(): Promise<void> {
    for (const queueOf of [followQueue, mergeQueue]) {
      const queue = queueOf(this.#world)
      const now = this.#clock()
      const by = { now, until: new Date(now.getTime() + CLAIM_MS) }
      const tasks = await queue.claim(by, 100).catch(() => [])
      await Promise.all(tasks.map(task => task.work(this.#death.signal).catch(() => undefined)))
    }
  }

  #worldOf(db: Database): DeliveryContext {
    const parts = {
      db: this.#database(db),
      clock: { now: this.#clock },
      log: silentLog,
      wakeups: { publish() {} },
      consoleUrl: 'https://berth.test',
      runtimes: { find: () => ({ isScript: true }) },
      delivery: {
        ...{ publicationMs: 600_000, mergeMs: 600_000, mergeWaitMs: 600_000, mergeCheckMs: 2000 },
        follow: { pollMs: 120_000, workMs: 2000, restMs: 60_000 },
      },
      sources: {
        find: async ({ organizationId }: { organizationId: string }) => {
          const repository = { account: 'played', repositoryId: '1' }
          return { organizationId, host: this.#host(), repository, baseBranch: 'main', baseOid: oidOf('base') }
        },
      },
    }
    return parts as unknown as DeliveryContext
  }

  async #step<T>(name: string, refusal: () => Error, work: () => Promise<T> | T): Promise<T> {
    this.#death.signal.throwIfAborted()
    const isStruck = this.#strike?.on === name && ++this.#steps === this.#strike.at
    const mode = isStruck ? this.#strike?.mode : undefined
    if (mode === 'fails') throw refusal()
    const result = await work()
    if (mode === 'unanswered') throw refusal()
    if (mode === 'dies') this.#death.abort(new Error('the process is dead'))
    this.#death.signal.throwIfAborted()
    return result
  }

  #database(real: Database): Database {
    const away = () => new DatabaseUnavailable(new Error('struck'))
    return {
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

  #host(): GitHost {
    const away = () => new GitHostError('unavailable', 'struck')
    const host = {
      id: 'played',
      kind: 'local',
      following: this.#pulls.following((name, work) => this.#step(name, away, work)),
      readPull: (_: unknown, number: number) => this.#step('read', away, () => this.#pulls.readPull(number)),
      mergePull: (_: unknown, merge: Parameters<PlayedPulls['mergePull']>[0]) =>
        this.#step('merge', away, () => this.#pulls.mergePull(merge)),
    }
    return host as unknown as GitHost
  }
}
