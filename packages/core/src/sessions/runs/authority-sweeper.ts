import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { abandonUnfinished } from '../leases/end-lease.ts'
import { holdSession } from '../session/session-sql.ts'
import { findUnauthorizedRuns, isUnauthorized, type RunKey } from './authority-sql.ts'
import { endRun } from './end-run.ts'
import { isTerminal } from './run.ts'
import { lockRun, requestCancel } from './run-sql.ts'

/** Pause between two sweeps; the gateway and the API refuse a revoked credential themselves, without any delay. */
const SWEEP_MS = 1_000
const AT_ONCE = 100

/**
 * Ends Runs whose authority has ended. A running one is cancelled, sealed and then `failed` with `authority_revoked`.
 * One that waits for a worker, for its sandbox or for people ends here. The sweeper runs in every process, whatever its
 * roles, so a waiting Run ends even if no worker is left.
 */
export class AuthoritySweeper implements PeriodicTask {
  readonly name = 'authority-sweeper'
  readonly intervalMs = SWEEP_MS
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /**
   * Makes one pass over the Runs whose authority has ended. A Run that it cannot end, because its Session is locked for
   * example, does not hold up the others.
   * @throws the first failure, after the last Run
   */
  async round(): Promise<void> {
    const failures: unknown[] = []
    for (const run of await findUnauthorizedRuns(this.#context.db, AT_ONCE)) {
      await this.#end(run).catch(error => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; revoked runs end once it is back',
      failed: 'could not end a revoked run; the next sweep tries again',
    })
  }

  async #end({ runId, ...key }: RunKey): Promise<void> {
    const { db, clock, wakeups } = this.#context
    await db.transaction(async tx => {
      await holdSession(tx, key)
      const run = await lockRun(tx, key, runId)
      if (run === null || isTerminal(run.status) || !(await isUnauthorized(tx, key, runId))) return
      const now = clock.now()
      if (run.status === 'running' || run.status === 'awaiting') await requestCancel(tx, key, runId, now)
      if (run.status === 'running') {
        await closeInteractions(tx, key, 'authority_revoked', now)
        return
      }
      // A queued Run has no sandbox yet; one that is being set up belongs to whoever asked for the workspace.
      if (run.status !== 'queued') await abandonUnfinished(tx, key, now, 'cancelled')
      // The worker that holds an awaiting Run stops its agent and seals the workspace.
      const seal = run.status === 'awaiting'
      await endRun(tx, key, runId, { status: 'cancelled', stopReason: 'aborted' }, now, { seal })
    })
    const { organizationId, sessionId } = key
    wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId), topics.leases)
  }
}
