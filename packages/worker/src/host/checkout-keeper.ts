import type { Host } from '@berth/core/hosts/hosts.ts'
import { reachSource } from '@berth/core/repositories/resolve-source.ts'
import { type ExpectedSource, listExpectedSources } from '@berth/core/sessions/leases/expected-source-sql.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { WorkerContext } from '../claim/execution-context.ts'
import { namesOf } from '../workspace/session-source.ts'

const MINUTE_MS = 60_000
/** A tree is made this long before a schedule fires, and the task comes by twice in that time. */
const AHEAD_MS = 2 * MINUTE_MS

/**
 * Makes checkouts before anybody waits for them, one at a time: of a branch that live Sessions of this host began on, once
 * a Git host has told of a push, and of one that a trigger's schedule is about to name. Only repositories of which this
 * host has a tree count.
 */
export class CheckoutKeeper implements PeriodicTask {
  readonly name = 'checkout-keeper'
  readonly intervalMs = MINUTE_MS
  readonly #context: WorkerContext
  #wasPushed = false

  constructor(context: WorkerContext) {
    this.#context = context
  }

  subscribe(wake: () => void): () => void {
    return this.#context.wakeups.subscribe(topics.heads, () => {
      this.#wasPushed = true
      wake()
    })
  }

  async round(stopping: AbortSignal): Promise<void> {
    const { clock, db, hosts, log } = this.#context
    const withPushed = this.#wasPushed
    this.#wasPushed = false
    const now = clock.now()
    for (const host of hosts.held()) {
      if (host.driver.lowerOwner() === null) continue
      const until = new Date(now.getTime() + AHEAD_MS)
      for (const expected of await listExpectedSources(db, host.id, { now, until, withPushed })) {
        stopping.throwIfAborted()
        await this.#make(host, expected, stopping).catch(error => {
          stopping.throwIfAborted()
          log.debug({ err: error }, 'a checkout could not be made ahead')
        })
      }
    }
  }

  failed(error: unknown, stopping: AbortSignal): void {
    if (stopping.aborted) return
    logFailure(this.#context.log, error, {
      waiting: 'making checkouts ahead waits for the database',
      failed: 'checkouts could not be made ahead',
    })
  }

  async #make(
    { checkouts, driver, mirrors }: Host,
    { organizationId, installationId, source: wanted }: ExpectedSource,
    signal: AbortSignal,
  ): Promise<void> {
    const owner = driver.lowerOwner()
    if (owner === null) return
    const { host, repository } = await reachSource(this.#context, { organizationId, installationId }, wanted)
    const at = { organizationId, host, repository }
    if (!(await checkouts.hasOne(at))) return
    const baseBranch = wanted.baseBranch ?? (await host.readRepository(repository, signal)).defaultBranch
    if (baseBranch === null) return
    const { oid } = await host.readBranch(repository, baseBranch, signal)
    const commit = { ...at, oid }
    const mirror = await mirrors.provide(commit, signal)
    const names = () => namesOf({ baseBranch, baseOid: oid }, commit, mirror, signal)
    await checkouts.provide({ commit, mirror, names }, owner, signal)
  }
}
