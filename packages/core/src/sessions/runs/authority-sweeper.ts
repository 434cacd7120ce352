import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { abandonUnfinished } from '../leases/end-lease.ts'
import { holdSession } from '../session/session-sql.ts'
import { Sweeper } from '../session/sweeper.ts'
import { findUnauthorizedRuns, isUnauthorized, type RunKey } from './authority-sql.ts'
import { endRun } from './end-run.ts'
import { isTerminal } from './run.ts'
import { lockRun, requestCancel } from './run-sql.ts'

/**
 * Ends Runs whose authority has ended. A running one is cancelled, sealed and then `failed` with `authority_revoked`.
 * One that waits for a worker, for its sandbox or for people ends here. The gateway and the API refuse a revoked credential
 * themselves, without any delay.
 */
export class AuthoritySweeper extends Sweeper<RunKey> {
  readonly name = 'authority-sweeper'
  protected readonly messages = {
    waiting: 'the database is away; revoked runs end once it is back',
    failed: 'could not end a revoked run; the next sweep tries again',
  }

  protected find(atMost: number): Promise<readonly RunKey[]> {
    return findUnauthorizedRuns(this.context.db, atMost)
  }

  protected async sweep({ runId, ...key }: RunKey): Promise<void> {
    const { db, clock, wakeups } = this.context
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
