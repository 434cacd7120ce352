import { randomUUID } from 'node:crypto'
import { HostNotHeld } from '@berth/core/hosts/hosts.ts'
import { Loop } from '@berth/platform/kit/loop.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { ProcessHeartbeat } from '@berth/platform/processes/process-heartbeat.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { pollingMs } from '@berth/platform/storage/postgres/polling-ms.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Claim, ClaimLost, type Taken, WorkerStopping } from './claim/claim.ts'
import { claimRun } from './claim/claim-queued-sql.ts'
import { adoptLapsed, type Claimant, claimWorkspaces, isDue } from './claim/claim-sql.ts'
import { atHost, type ExecutionContext, type WorkerContext } from './claim/execution-context.ts'
import { giveBackUnmade, giveBackUnplaced } from './claim/finish.ts'
import { countAwaiting, hasUnheld, lapseClaim, lapseUnheld, liveClaims } from './claim/hold-sql.ts'
import { chooseHost, type Pending } from './claim/placement-sql.ts'
import { PeerLocks } from './host/peer-locks.ts'
import { Witness } from './host/witness.ts'
import { executeRun } from './run-execution.ts'
import { executeRestore } from './workspace/execute-restore.ts'

interface Held {
  readonly claim: Taken<Claim>
  /** Id of the host that it works at. */
  readonly host: string
  readonly abort: AbortController
  readonly done: Promise<void>
}

/** Time between two looks at the queue while wake-ups arrive, as a multiple of the time while they do not. */
const CALM = 10
/** Of so many heartbeats, one compares the claims that rows name with those that are held. */
const BEATS_PER_CHECK = 4
/** A Run waits so long for the worker that holds the host of its Session's last sandbox; the others look again then. */
const HEAD_START_MS = 250

/**
 * Claims Runs and executes them.
 *
 * All its claims stand as long as the one row of its process, which it writes four times as often as it lapses. If the
 * row lapses, any worker may take the claims over, and the old worker learns of it at its next refused write or look.
 * No two clocks have to agree: the database alone says what has lapsed.
 */
export class Worker implements Service {
  readonly name = 'worker'
  readonly holder: string
  readonly #context: WorkerContext
  readonly #held = new Map<string, Held>()
  readonly #claiming: Loop
  readonly #heartbeat: ProcessHeartbeat
  readonly #witness: Witness | null
  readonly #locks: PeerLocks
  #unsubscribe = () => {}
  #beats = 0
  /** When it last wrote its row. */
  #heardAt = Number.NEGATIVE_INFINITY
  /** Of the Runs it holds, those that waited for people when it was last at its limit. */
  #awaiting = 0
  #next: NodeJS.Timeout | undefined
  #stopping = false
  /** Number of answers of the database that were lost: rows may name this worker for work that it does not know of. */
  #doubts = 0
  /** How many of those a look at the rows has settled. One that comes during a look waits for the next. */
  #settled = 0

  /** @param holder the id of its process's row */
  constructor(context: WorkerContext, holder = `${context.self.host}/${process.pid}/${randomUUID().slice(0, 8)}`) {
    this.#context = context
    this.holder = holder
    const messages = { waiting: 'the worker waits for the database', failed: 'the worker failed' }
    const log = (error: unknown) => logFailure(context.log, error, messages)
    this.#claiming = new Loop(
      () => this.#claim(),
      () => pollingMs(context.wakeups, context.limits.pollMs, CALM),
      log,
    )
    const { self, limits, workersDir } = context
    this.#witness = workersDir === undefined ? null : new Witness({ ...context, directory: workersDir }, this.holder)
    this.#locks = new PeerLocks(context, this.holder)
    this.#heartbeat = new ProcessHeartbeat(context, { id: this.holder, ...self, patienceMs: limits.fenceMs }, late =>
      this.#heard(late),
    )
  }

  /** The Runs that it works on, and how many more it would take: none without a host or while its row may have lapsed. */
  get load(): { readonly busy: number; readonly free: number } {
    const { clock, hosts, limits } = this.#context
    const busy = this.#held.size - this.#awaiting
    const isHeard = clock.now().getTime() - this.#heardAt < limits.fenceMs
    const takes = isHeard && !this.#stopping && hosts.ids().length > this.#away().length
    return { busy, free: takes ? Math.max(0, limits.concurrency - busy) : 0 }
  }

  async start(): Promise<void> {
    const unsubscribe = this.#context.wakeups.subscribe(topics.queue, () => this.#claiming.wake())
    const forget = this.#context.hosts.subscribe(change => {
      if ('added' in change) this.#claiming.wake()
      else this.#left(change.removed)
    })
    this.#unsubscribe = () => {
      unsubscribe()
      forget()
    }
    await this.#heartbeat.start()
    this.#locks.start()
  }

  /** Claims nothing more and releases its claims. The agents go on, and the next worker attaches to them. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    clearTimeout(this.#next)
    this.#unsubscribe()
    await this.#claiming[Symbol.asyncDispose]()
    const held = [...this.#held.values()]
    for (const { abort } of held) abort.abort(new WorkerStopping())
    await Promise.all(held.map(({ done }) => done))
    await this.#heartbeat[Symbol.asyncDispose]()
    await this.#witness?.[Symbol.asyncDispose]()
    await this.#locks[Symbol.asyncDispose]()
    this.#context.wakeups.publish(topics.queue)
  }

  async #claim(): Promise<void> {
    const { db, limits, hosts } = this.#context
    // Without a row of this process its claims would neither stand nor lapse.
    if (this.#beats === 0) return
    const doubts = this.#doubts
    // Also without a host or a free hand: other workers may take a claim that this one has lost.
    if (this.#settled < doubts) await lapseUnheld(db, this.holder, this.#claims())
    this.#settled = doubts
    const free = limits.concurrency - (await this.#busy())
    if (free <= 0 || this.#stopping || hosts.ids().length === 0) return
    // That of this look, until it is over. A release that fails meanwhile adds its own.
    this.#doubts += 1
    const by = this.#claimant()
    const adopted = await adoptLapsed(db, by, free)
    for (const claim of adopted) await this.#take(claim, by, (context, signal) => executeRun(context, claim, signal))
    const room = await this.#claimQueued(free - adopted.length)
    for (const claim of room > 0 ? await claimWorkspaces(db, by, room) : []) {
      await this.#take(claim, by, (context, signal) => executeRestore(context, claim, signal))
    }
    this.#settled += 1
  }

  /**
   * Claims queued Runs one by one, so that each claim counts the sandboxes of those before it. If it leaves one to the worker
   * that is nearer, or finds one locked, or one that may not start yet, it looks again: no wake-up tells of that moment.
   * @returns how many more it could take
   */
  async #claimQueued(most: number): Promise<number> {
    let free = most
    while (free > 0 && !this.#stopping) {
      const by = this.#claimant()
      const bounds = { headStartMs: HEAD_START_MS, pending: this.#pending(), away: this.#away() }
      const { claim, isLeft, dueInMs } = await claimRun(this.#context.db, by, bounds)
      if (claim === null) {
        this.#pollAfter(isLeft ? Math.min(HEAD_START_MS, dueInMs ?? HEAD_START_MS) : dueInMs)
        break
      }
      if (await this.#take(claim, by, (context, signal) => executeRun(context, claim, signal))) free -= 1
    }
    return free
  }

  #pollAfter(ms: number | null): void {
    clearTimeout(this.#next)
    if (ms !== null && !this.#stopping) this.#next = setTimeout(() => this.#claiming.wake(), ms)
  }

  #claimant(): Claimant {
    const { clock, hosts } = this.#context
    return { holder: this.holder, hosts: hosts.ids(), now: clock.now() }
  }

  /** Sandboxes that are to be made for claims of this worker. */
  #pending(): readonly Pending[] {
    return [...this.#held.values()]
      .filter(({ claim }) => claim.leaseHost === null)
      .map(({ claim: { organizationId, sessionId }, host }) => ({ organizationId, sessionId, host }))
  }

  /** Counts the Runs that are worked on. A Run that waits for people costs only a connection. */
  async #busy(): Promise<number> {
    const held = this.#held.size
    const full = held >= this.#context.limits.concurrency
    this.#awaiting = full ? await countAwaiting(this.#context.db, this.#claims()) : 0
    return held - this.#awaiting
  }

  /** @returns whether it holds the claim now, or has put it back */
  async #take(
    claim: Taken<Claim>,
    by: Claimant,
    work: (context: ExecutionContext, signal: AbortSignal) => Promise<void>,
  ): Promise<boolean> {
    const key = `${claim.organizationId}/${claim.sessionId}`
    // This worker may itself hold the lapsed claim, after the whole process was paused.
    this.#held.get(key)?.abort.abort(new ClaimLost())
    const abort = new AbortController()
    const { log } = this.#context
    const host = await this.#placeOf(claim, by)
    // The host went away since the claim, and no other will do. Whoever holds it next goes on, or whoever has room.
    if (host === null) {
      await this.#putBack(claim, giveBackUnplaced(this.#context, claim))
      return false
    }
    const done = Promise.try(() => work(atHost(this.#context, host), abort.signal))
      .catch(error => {
        if (!abort.signal.aborted && !(error instanceof ClaimLost))
          log.error({ err: error, sessionId: claim.sessionId }, 'a claim was given up')
      })
      .then(() => this.#release(claim, abort.signal))
      .then(
        () => 0,
        error => {
          log.error({ err: error, sessionId: claim.sessionId }, 'a claim could not be released')
          return 1
        },
      )
      .then(doubt => {
        if (this.#held.get(key)?.abort === abort) this.#held.delete(key)
        // A look that begins from here on no longer counts the claim as held.
        this.#doubts += doubt
        this.#claiming.wake()
      })
    this.#held.set(key, { claim, host, abort, done })
    return true
  }

  /**
   * Returns the host of the Session's sandbox, or of the one that is to be made for it; null if there is none for it any
   * more. A sandbox that was within reach when it was claimed has not gone with the line to its host.
   */
  async #placeOf(claim: Taken<Claim>, by: Claimant): Promise<string | null> {
    const { db, hosts, self } = this.#context
    const { leaseHost } = claim
    if (leaseHost !== null && hosts.holds(leaseHost)) return leaseHost
    if (leaseHost !== null && by.hosts.includes(leaseHost)) return null
    const held = hosts.ids()
    const isOwnAlone = held.length === 1 && held[0] === self.host
    return isOwnAlone ? self.host : await chooseHost(db, held, claim, { pending: this.#pending(), away: this.#away() })
  }

  /** The hosts whose line is cut: they may dial again, or be gone. */
  #away(): readonly string[] {
    const away = this.#context.hosts.held().filter(({ isLive: isConnected }) => isConnected?.() === false)
    return away.map(({ id }) => id)
  }

  /** Gives up the claims at a host whose connection is gone, for the process that gets the next one. */
  #left(host: string): void {
    for (const held of this.#held.values()) if (held.host === host) held.abort.abort(new HostNotHeld(host))
  }

  /** Lapses a claim whose Run is unfinished: this worker has abandoned it, and its process lives on. */
  async #release(claim: Claim, signal: AbortSignal): Promise<void> {
    if (signal.aborted && !(signal.reason instanceof HostNotHeld)) return
    if (!signal.aborted) return await lapseClaim(this.#context.db, claim)
    await this.#putBack(claim, giveBackUnmade(this.#context, claim))
  }

  /** Lapses a claim that could not be given back. */
  async #putBack(claim: Claim, given: Promise<boolean>): Promise<void> {
    const isGiven = await given.catch((error: unknown) => {
      if (error instanceof ClaimLost) return true
      throw error
    })
    if (!isGiven) await lapseClaim(this.#context.db, claim)
  }

  #claims(): Claim[] {
    return [...this.#held.values()].map(({ claim }) => claim)
  }

  async #heard(late: boolean): Promise<void> {
    this.#beats += 1
    this.#heardAt = this.#context.clock.now().getTime()
    // Not awaited: what hangs there must not keep this process silent.
    void this.#witness?.findPeers()
    // No wake-up tells of a process that fell silent, nor of the moment at which a Run may start again.
    const due = this.#beats === 1 || (await isDue(this.#context.db, this.holder, this.#context.limits.fenceMs))
    if (due) this.#claiming.wake()
    if (late || this.#beats % BEATS_PER_CHECK === 0) await Promise.all([this.#giveUpLost(), this.#doubtUnheld()])
  }

  /**
   * Gives up the claims that no longer stand. After a late heartbeat others may have taken them; otherwise they are lost
   * only by the end of a Session or its Run, of which the worker hears sooner elsewhere.
   */
  async #giveUpLost(): Promise<void> {
    if (this.#held.size === 0) return
    const before = [...this.#held]
    const kept = await liveClaims(this.#context.db, this.#claims())
    for (const [key, held] of before) {
      if (!kept.has(key) && this.#held.get(key) === held) held.abort.abort(new ClaimLost())
    }
  }

  /**
   * Finds claims of which this worker does not know. A look right after a lost answer may miss one: the server goes on
   * with a statement whose sender is gone, and may commit it after the look.
   */
  async #doubtUnheld(): Promise<void> {
    if (!(await hasUnheld(this.#context.db, this.holder, this.#claims()))) return
    this.#doubts += 1
    this.#claiming.wake()
  }
}
