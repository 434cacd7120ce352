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

/** One process that follows pull requests of a played host, and dies or fails once at one step. */
export class CrashingProcess {
  readonly #world: DeliveryContext
  readonly #pulls: PlayedPulls
  readonly #clock: () => Date
  readonly #strike: { readonly at: number; readonly mode: CrashMode }
  readonly #death = new AbortController()
  #steps = 0

  /**
   * @param strike.at number of the step at which it strikes, from 1; 0 for none
   */
  constructor(
    db: Database,
    pulls: PlayedPulls,
    clock: () => Date,
    strike: { readonly at: number; readonly mode: CrashMode },
  ) {
    this.#pulls = pulls
    this.#clock = clock
    this.#strike = strike
    this.#world = this.#worldOf(db)
  }

  get isDead(): boolean {
    return this.#death.signal.aborted
  }

  get hasStruck(): boolean {
    return this.#strike.at > 0 && this.#steps >= this.#strike.at
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
        follow: { lookMs: 120_000, workMs: 2000, restMs: 60_000 },
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

  async #step<T>(refusal: () => Error, work: () => Promise<T> | T): Promise<T> {
    this.#death.signal.throwIfAborted()
    const isStruck = ++this.#steps === this.#strike.at
    if (isStruck && this.#strike.mode === 'fails') throw refusal()
    const result = await work()
    if (isStruck && this.#strike.mode === 'unanswered') throw refusal()
    if (isStruck) this.#death.abort(new Error('the process is dead'))
    this.#death.signal.throwIfAborted()
    return result
  }

  #database(real: Database): Database {
    const away = () => new DatabaseUnavailable(new Error('struck'))
    return {
      query: <Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>> => {
        const text = typeof statement === 'string' ? statement : statement.text
        const ask = () => (values === undefined ? real.query<Row>(statement) : real.query<Row>(statement, values))
        if (text.trimStart().startsWith('update')) return this.#step(away, ask)
        this.#death.signal.throwIfAborted()
        return ask()
      },
      transaction: (work, options) => this.#step(away, () => real.transaction(work, options)),
    }
  }

  #host(): GitHost {
    const away = () => new GitHostError('unavailable', 'struck')
    const host = {
      id: 'played',
      kind: 'local',
      following: this.#pulls.following((_, work) => this.#step(away, work)),
      readPull: (_: unknown, number: number) => this.#step(away, () => this.#pulls.readPull(number)),
      mergePull: (_: unknown, merge: Parameters<PlayedPulls['mergePull']>[0]) =>
        this.#step(away, () => this.#pulls.mergePull(merge)),
    }
    return host as unknown as GitHost
  }
}
