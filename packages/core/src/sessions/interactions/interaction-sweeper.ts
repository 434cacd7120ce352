import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { resumeIfAnswered } from '../runs/resume-run.ts'
import { holdSession } from '../session/session-sql.ts'
import { closeInteractions } from './close-interactions.ts'
import { findInteraction, findOverdue, type Overdue } from './interaction-sql.ts'

/** Pause between two sweeps, so a deadline is at most this late. Decisions check the clock themselves. */
const SWEEP_MS = 1_000
const AT_ONCE = 100

/**
 * Closes approvals at their deadline. It runs in every process, whatever its roles, so an approval ends on time even if
 * no worker is left to run the agent that asked.
 */
export class InteractionSweeper implements PeriodicTask {
  readonly name = 'interaction-sweeper'
  readonly intervalMs = SWEEP_MS
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /**
   * Makes one pass over the overdue approvals. One that it cannot close, because its Session is locked for example,
   * does not hold up the others.
   * @throws the first failure, after the last approval
   */
  async round(): Promise<void> {
    const failures: unknown[] = []
    for (const overdue of await findOverdue(this.#context.db, this.#context.clock.now(), AT_ONCE)) {
      await this.#close(overdue).catch(error => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; overdue approvals close once it is back',
      failed: 'could not close an overdue approval; the next sweep tries again',
    })
  }

  async #close({ organization_id: organizationId, session_id: sessionId, id }: Overdue): Promise<void> {
    const { db, clock, wakeups } = this.#context
    const key = { organizationId, sessionId }
    const closed = await db.transaction(async tx => {
      await holdSession(tx, key)
      const row = await findInteraction(tx, key, id)
      const now = clock.now()
      if (row === null || (await closeInteractions(tx, key, 'timed_out', now, { id })) === 0) return false
      await resumeIfAnswered(tx, key, row.run_id, now)
      return true
    })
    if (!closed) return
    const session = topics.session(organizationId, sessionId)
    wakeups.publish(session, topics.control(organizationId, sessionId), topics.queue)
  }
}
