import { setTimeout as sleep } from 'node:timers/promises'
import { isAllWorkSealed } from '@berth/core/checkpoints/checkpoint-sql.ts'
import type { Host } from '@berth/core/hosts/hosts.ts'
import { endLease } from '@berth/core/sessions/leases/end-lease.ts'
import {
  findDrainedLeases,
  findDueLeases,
  findLeasesOfArchived,
  findLeasesOfLostHosts,
  findLive,
  findLiveLeasesOfHosts,
  type LeaseRow,
  leaseIsLive,
} from '@berth/core/sessions/leases/lease-sql.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import { lockSession } from '@berth/core/sessions/session/session-sql.ts'
import { sealTerminalWork } from '@berth/core/sessions/terminals/seal-terminal-work.ts'
import { isKeptAwake } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { SandboxState } from '@berth/sandboxes/driver.ts'
import { atHost, type WorkerContext } from '../claim/execution-context.ts'
import { isTrial } from '../images/start-once.ts'
import { freezeAtRest, isAtRest } from '../workspace/freeze-lease.ts'
import { WorkByHost } from './work-by-host.ts'

/** On shutdown, waits this long for sandboxes that end and are being destroyed; the next start destroys the rest. */
const PATIENCE_MS = 5_000

/**
 * Keeps leases and sandboxes consistent. It ends leases whose deadline has passed, whose sandbox is gone, or whose
 * Session is archived, and those at rest on hosts that are drained, if their work is sealed. It destroys sandboxes that no lease names, and
 * freezes sandboxes that no Run works in. While a lease has a Run, the worker handles everything but the lease's bound.
 */
export class Sweeper extends LoopingService {
  override readonly name = 'sweeper'
  readonly #context: WorkerContext
  /** Sandboxes that are being destroyed; one that hangs delays nothing else. */
  readonly #destroying = new Map<string, Promise<void>>()
  readonly #hosts = new WorkByHost()
  /** By host: the states of its sandboxes without a Run at its last sweep. */
  readonly #states = new Map<string, readonly (SandboxState | null)[]>()
  readonly #givesBackAtStop: () => Promise<boolean>
  #unsubscribe = () => {}

  /** @param givesBackAtStop asked at the stop: whether resting sandboxes of this machine end with this process */
  constructor(context: WorkerContext, givesBackAtStop: () => Promise<boolean> = async () => false) {
    super(context.limits.sweepMs)
    this.#context = context
    this.#givesBackAtStop = givesBackAtStop
  }

  override async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.leases, () => this.wake())
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    await super[Symbol.asyncDispose]()
    const enough = new AbortController()
    const over = async () => {
      await this.#hosts.over()
      await this.#giveBack(enough.signal)
      await Promise.all(this.#destroying.values())
    }
    const overdue = sleep(PATIENCE_MS, undefined, { signal: enough.signal }).catch(() => undefined)
    await Promise.race([over().catch(error => this.failed(error)), overdue])
    enough.abort()
  }

  /**
   * Ends the leases that rest on this machine and whose work is sealed, and destroys their sandboxes. The rest stays for
   * the next process: sandboxes with a Run, with an open terminal, or without a checkpoint. Other machines' hosts
   * dial the next process.
   */
  async #giveBack(signal: AbortSignal): Promise<void> {
    const { db, clock, hosts, self } = this.#context
    const own = hosts.held().find(({ id, driver }) => id === self.host && driver.kind !== 'remote')
    if (own === undefined || !(await this.#givesBackAtStop())) return
    for (const { organization_id: organizationId, session_id: sessionId, id } of await findLiveLeasesOfHosts(db, [
      own.id,
    ])) {
      if (signal.aborted) return
      if (await isKeptAwake(db, id, clock.now())) continue
      await this.#end(organizationId, sessionId, id, 'stopped')
    }
    await this.#clear(own)
  }

  /** Counts the sandboxes at rest of the held hosts, as their last sweeps found them. */
  get atRest(): Readonly<Record<'frozen' | 'parked', number>> {
    const states = this.#context.hosts.ids().flatMap(id => this.#states.get(id) ?? [])
    const count = (wanted: SandboxState) => states.filter(state => state === wanted).length
    return { frozen: count('frozen'), parked: count('parked') }
  }

  /** Sweeps the leases and sandboxes of the held hosts once. Any process ends leases that are due and those of lost hosts. */
  async round(): Promise<void> {
    const { db, clock, hosts } = this.#context
    for (const lease of await findDueLeases(db, clock.now(), 100)) {
      await this.#end(lease.organization_id, lease.session_id, lease.id, 'expired')
    }
    for (const lease of await findLeasesOfLostHosts(db, hosts.ids(), 100)) {
      await this.#end(lease.organization_id, lease.session_id, lease.id, 'lost')
    }
    for (const lease of await findLeasesOfArchived(db, 100)) {
      await this.#end(lease.organization_id, lease.session_id, lease.id, 'archived')
    }
    for (const lease of await findDrainedLeases(db, hosts.ids())) {
      if (await isKeptAwake(db, lease.id, clock.now())) continue
      await this.#end(lease.organization_id, lease.session_id, lease.id, 'drained')
    }
    const leases = await findLiveLeasesOfHosts(db, hosts.ids())
    const sweeps = hosts.held().map(host => {
      const own = leases.filter(lease => lease.host === host.id)
      const swept = this.#hosts.start(host.id, () => this.#sweep(host, own))
      // What dials in may be silent for as long as it likes.
      return host.driver.kind === 'remote' ? null : swept
    })
    await Promise.all(sweeps)
  }

  async #sweep(host: Host, leases: readonly LeaseRow[]): Promise<void> {
    const states: (SandboxState | null)[] = []
    for (const lease of leases) states.push(await this.#check(lease))
    this.#states.set(host.id, states)
    await this.#clear(host).catch(error => {
      if (error instanceof DatabaseUnavailable) throw error
      this.#context.log.warn({ err: error, host: host.id }, 'the sandboxes of a host could not be swept')
    })
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the sweeper waits for the database',
      failed: 'the sweeper failed',
    })
  }

  /**
   * Destroys the sandboxes of a host that no lease names. A lease's row is committed before its sandbox is made, so a
   * listed sandbox without a live row has outlived its lease.
   */
  async #clear(host: Host): Promise<void> {
    const { db, clock } = this.#context
    const listed = (await host.driver.list()).filter(leaseId => !isTrial(leaseId, clock.now()))
    const live = await findLive(db, listed)
    for (const leaseId of listed) if (!live.has(leaseId)) this.#destroy(host, leaseId)
  }

  #destroy({ id: host, driver }: Host, leaseId: string): void {
    const { log } = this.#context
    // Another host may say that it has the same one.
    const key = `${host}/${leaseId}`
    if (this.#destroying.has(key)) return
    const destroyed = driver
      .destroy(leaseId)
      .catch(error => log.warn({ err: error, leaseId }, 'a sandbox could not be destroyed yet'))
      .finally(() => this.#destroying.delete(key))
    this.#destroying.set(key, destroyed)
  }

  /**
   * Ends a lease whose sandbox is gone, and freezes a sandbox that runs. That happens after a worker died between the
   * end of a Run and the freeze, or after a process withstood the signals. A failure here does not stop the sweep.
   * @returns the state that it was found in; null if that is not known
   */
  async #check({
    organization_id: organizationId,
    session_id: sessionId,
    id,
    host,
  }: LeaseRow): Promise<SandboxState | null> {
    const { hosts, log } = this.#context
    if (!hosts.holds(host)) return null
    const context = atHost(this.#context, host)
    try {
      const state = await context.driver.stateOf(id)
      if (state === 'gone') await this.#end(organizationId, sessionId, id, 'lost')
      else if (!isAtRest(state)) await freezeAtRest(context, { organizationId, sessionId })
      return state
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      log.error({ err: error, leaseId: id }, 'a sandbox at rest could not be looked at or frozen')
      return null
    }
  }

  async #end(
    organizationId: string,
    sessionId: string,
    leaseId: string,
    reason: 'expired' | 'drained' | 'stopped' | 'lost' | 'archived',
  ): Promise<void> {
    const { db, clock, wakeups } = this.#context
    const key = { organizationId, sessionId }
    const ended = await db.transaction<boolean | 'sealing'>(async tx => {
      const session = await lockSession(tx, key)
      // Checks again under the lock: a Turn may have been admitted or the lease replaced since the list was read.
      if (session === null || session.active_run_id !== null || session.finalizing || !(await leaseIsLive(tx, leaseId)))
        return false
      const now = clock.now()
      // A worker that still serves an archived Session holds a fence that archiving could not take.
      if (reason === 'archived') await releaseFence(tx, key)
      if (reason === 'expired' && (session.lease_expires_at?.getTime() ?? 0) > now.getTime()) return false
      if (reason === 'lost' || reason === 'archived') return endLease(tx, key, reason, now)
      // The sandbox has the only copy of work whose seal was given up: it stays until its lease ends.
      if (reason !== 'expired' && !(await isAllWorkSealed(tx, key, session))) return false
      return (await sealTerminalWork(tx, key, now)) ? 'sealing' : endLease(tx, key, 'expired', now)
    })
    if (ended === 'sealing') wakeups.publish(topics.queue)
    if (ended) wakeups.publish(topics.session(organizationId, sessionId))
  }
}
