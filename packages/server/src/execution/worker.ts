import { randomUUID } from 'node:crypto'
import { Loop } from '../kit/loop.ts'
import type { Service } from '../kit/service.ts'
import { logFailure } from '../storage/postgres/log-failure.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import type { Claim } from './claim/claim.ts'
import { ClaimLost, WorkerStopping } from './claim/claim-lost.ts'
import { adoptLapsed, claimQueued, claimWorkspaces } from './claim/claim-sql.ts'
import type { ExecutionContext } from './claim/execution-context.ts'
import { countAwaiting, lapseClaim, lapseClaims, renewClaims } from './claim/hold-sql.ts'
import { executeRun } from './run-execution.ts'
import { executeRestore } from './workspace/execute-restore.ts'

interface Held {
  readonly claim: Claim
  readonly abort: AbortController
  readonly done: Promise<void>
}

/**
 * Claims Runs, executes them and renews its claims.
 *
 * A claim that is not renewed lapses, and any worker takes it over. The old worker learns of it at its next refused
 * write or heartbeat. Nothing else depends on two workers agreeing on the time.
 */
export class Worker implements Service {
  readonly name = 'worker'
  readonly holder: string
  readonly #context: ExecutionContext
  readonly #held = new Map<string, Held>()
  readonly #claiming: Loop
  readonly #heartbeat: Loop
  #unsubscribe = () => {}
  #stopping = false

  constructor(context: ExecutionContext) {
    this.#context = context
    this.holder = `${context.host}/${process.pid}/${randomUUID().slice(0, 8)}`
    const messages = { waiting: 'the worker waits for the database', failed: 'the worker failed' }
    const log = (error: unknown) => logFailure(context.log, error, messages)
    this.#claiming = new Loop(() => this.#claim(), context.limits.pollMs, log)
    this.#heartbeat = new Loop(() => this.#renew(), context.limits.fenceMs / 4, log)
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.queue, () => this.#claiming.wake())
    this.#claiming.wake()
    this.#heartbeat.wake()
  }

  /** Claims nothing more and releases its claims. The agents go on, and the next worker attaches to them. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    this.#unsubscribe()
    await this.#claiming[Symbol.asyncDispose]()
    const held = [...this.#held.values()]
    for (const { abort } of held) abort.abort(new WorkerStopping())
    await Promise.all(held.map(({ done }) => done))
    await this.#heartbeat[Symbol.asyncDispose]()
    // If the database is away, the claims lapse by themselves.
    await lapseClaims(this.#context.db, this.holder, this.#context.clock.now()).catch(() => undefined)
    this.#context.wakeups.publish(topics.queue)
  }

  async #claim(): Promise<void> {
    const { db, clock, limits, host } = this.#context
    const free = limits.concurrency - (await this.#busy())
    if (free <= 0 || this.#stopping) return
    const now = clock.now()
    const by = { holder: this.holder, host, now, expiresAt: new Date(now.getTime() + limits.fenceMs) }
    const adopted = await adoptLapsed(db, by, free)
    const queued = adopted.length < free ? await claimQueued(db, by, free - adopted.length) : []
    for (const claim of [...adopted, ...queued]) this.#take(claim, signal => executeRun(this.#context, claim, signal))
    const left = free - adopted.length - queued.length
    for (const claim of left > 0 ? await claimWorkspaces(db, by, left) : []) {
      this.#take(claim, signal => executeRestore(this.#context, claim, signal))
    }
  }

  /** Counts the Runs that are worked on. A Run that waits for people costs only a connection. */
  async #busy(): Promise<number> {
    const held = this.#held.size
    if (held < this.#context.limits.concurrency) return held
    return held - (await countAwaiting(this.#context.db, this.#claims()))
  }

  #take(claim: Claim, work: (signal: AbortSignal) => Promise<void>): void {
    const key = `${claim.organizationId}/${claim.sessionId}`
    // This worker may itself hold the lapsed claim, after the whole process was paused.
    this.#held.get(key)?.abort.abort(new ClaimLost())
    const abort = new AbortController()
    const { log } = this.#context
    const done = work(abort.signal)
      .catch(error => {
        if (!abort.signal.aborted && !(error instanceof ClaimLost))
          log.error({ err: error, sessionId: claim.sessionId }, 'a claim was given up')
      })
      .then(() => this.#release(claim, abort.signal))
      .catch(error => log.error({ err: error, sessionId: claim.sessionId }, 'a claim could not be released'))
      .finally(() => {
        if (this.#held.get(key)?.abort === abort) this.#held.delete(key)
        this.#claiming.wake()
      })
    this.#held.set(key, { claim, abort, done })
  }

  /** Lapses a claim whose Run is unfinished: this worker has abandoned it and must not renew it. */
  async #release(claim: Claim, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await lapseClaim(this.#context.db, claim, this.#context.clock.now())
  }

  #claims(): Claim[] {
    return [...this.#held.values()].map(({ claim }) => claim)
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return
    const { db, clock, limits } = this.#context
    const before = [...this.#held]
    const now = clock.now()
    const kept = await renewClaims(db, this.#claims(), now, new Date(now.getTime() + limits.fenceMs))
    for (const [key, held] of before) {
      if (!kept.has(key) && this.#held.get(key) === held) held.abort.abort(new ClaimLost())
    }
  }
}
