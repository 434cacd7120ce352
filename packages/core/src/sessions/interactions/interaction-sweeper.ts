import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { resumeIfAnswered } from '../runs/resume-run.ts'
import { holdSession } from '../session/session-sql.ts'
import { Sweeper } from '../session/sweeper.ts'
import { closeInteractions } from './close-interactions.ts'
import { findInteraction, findOverdue, type Overdue } from './interaction-sql.ts'

/** Closes approvals at their deadline, at most a second late. Decisions check the clock themselves. */
export class InteractionSweeper extends Sweeper<Overdue> {
  readonly name = 'interaction-sweeper'
  protected readonly messages = {
    waiting: 'the database is away; overdue approvals close once it is back',
    failed: 'could not close an overdue approval; the next sweep tries again',
  }

  protected find(atMost: number): Promise<readonly Overdue[]> {
    return findOverdue(this.context.db, this.context.clock.now(), atMost)
  }

  protected async sweep({ organization_id: organizationId, session_id: sessionId, id }: Overdue): Promise<void> {
    const { db, clock, wakeups } = this.context
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
