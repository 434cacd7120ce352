import { setTimeout as sleep } from 'node:timers/promises'
import { findIdleAgents, type IdleAgentRow } from '@berth/core/sessions/leases/idle-agent-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { atHost, type WorkerContext } from '../claim/execution-context.ts'
import { failureFields } from '../supervisor/errors.ts'
import { retireIdleAgent } from '../workspace/retire-agent.ts'
import { WorkByHost } from './work-by-host.ts'

const LONGEST_ROUND_MS = 10_000
/** On shutdown, waits this long for hosts that do not answer. */
const PATIENCE_MS = 5_000

/**
 * Ends agents that have been idle for long, and keeps their sandboxes. An agent that is kept for its processes is not asked
 * again before its next Run: nothing changes in a sandbox that stands still.
 */
export class AgentKeeper extends LoopingService {
  override readonly name = 'agent keeper'
  readonly #context: WorkerContext
  /** Leases that were looked at, each with the time of its newest Run's end. */
  readonly #settled = new Map<string, number>()
  readonly #hosts = new WorkByHost()
  readonly #stop = new AbortController()

  constructor(context: WorkerContext) {
    super(Math.min(LONGEST_ROUND_MS, context.limits.agentIdleMs / 2))
    this.#context = context
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await super[Symbol.asyncDispose]()
    const enough = new AbortController()
    const late = sleep(PATIENCE_MS, undefined, { signal: enough.signal }).catch(() => undefined)
    await Promise.race([this.#hosts.over(), late])
    enough.abort()
  }

  protected async round(): Promise<void> {
    const { db, clock, hosts, limits, runtimes } = this.#context
    const stateless = runtimes.ids.filter(id => runtimes.find(id)?.stateless === true)
    const since = new Date(clock.now().getTime() - limits.agentIdleMs)
    const idle = await findIdleAgents(db, hosts.ids(), since, stateless)
    const found = new Set(idle.map(({ id }) => id))
    for (const id of this.#settled.keys()) if (!found.has(id)) this.#settled.delete(id)
    const rounds = Map.groupBy(idle, ({ host }) => host)
      .entries()
      .map(([host, leases]) => {
        const round = this.#hosts.start(host, () => this.#retireAll(leases))
        // What dials in may be silent for as long as it likes.
        return hosts.holds(host) && hosts.of(host).driver.kind === 'remote' ? null : round
      })
    await Promise.all(rounds)
  }

  async #retireAll(leases: readonly IdleAgentRow[]): Promise<void> {
    for (const lease of leases) {
      if (this.#settled.get(lease.id) === lease.idle_since.getTime()) continue
      if (this.#stop.signal.aborted || !this.#context.hosts.holds(lease.host)) continue
      if (await this.#retire(lease)) this.#settled.set(lease.id, lease.idle_since.getTime())
    }
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the agent keeper waits for the database',
      failed: 'the agent keeper failed',
    })
  }

  /** @returns false if the agent is to be looked at again */
  async #retire(lease: LeaseRow): Promise<boolean> {
    const { log } = this.#context
    try {
      const ended = await retireIdleAgent(atHost(this.#context, lease.host), lease, this.#stop.signal)
      if (ended === 'ended') log.debug({ leaseId: lease.id }, 'an idle agent was ended')
      return ended !== 'busy'
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      if (!this.#stop.signal.aborted)
        log.warn({ ...failureFields(error), leaseId: lease.id }, 'an idle agent could not be ended yet')
      return false
    }
  }
}
