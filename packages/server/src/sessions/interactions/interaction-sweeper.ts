import type { Context } from '../../context.ts'
import { Loop, type Service } from '../../kit/service.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { lockSessionOf } from '../session/lock-session.ts'
import { closeInteractions } from './close-interactions.ts'
import { findInteraction, findOverdue, type Overdue } from './interaction-sql.ts'
import { letRunGoOn } from './let-run-go-on.ts'

/** Between two looks; a deadline is at most this late. Decisions look at the clock themselves. */
const SWEEP_MS = 1_000
const AT_ONCE = 100

/**
 * Closes approvals at their deadline. It runs in every process, whatever its roles: an approval ends on time although no
 * worker is left to run the agent that asked.
 */
export class InteractionSweeper implements Service {
  readonly name = 'interaction-sweeper'
  readonly #context: Context
  readonly #loop: Loop

  constructor(context: Context, sweepMs: number = SWEEP_MS) {
    this.#context = context
    this.#loop = new Loop(
      () => this.sweep(),
      sweepMs,
      error => {
        if (error instanceof DatabaseUnavailable) context.log.warn({ err: error }, 'deadlines wait for the database')
        else context.log.error({ err: error }, 'closing overdue interactions failed')
      },
    )
  }

  async start(): Promise<void> {
    this.#loop.wake()
  }

  async drain(): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  /**
   * One pass over what is overdue by now. One that cannot be closed, as its Session is locked, keeps none of the others.
   * @throws the first failure, after the last one
   */
  async sweep(): Promise<void> {
    const failures: unknown[] = []
    for (const overdue of await findOverdue(this.#context.db, this.#context.clock.now(), AT_ONCE)) {
      await this.#close(overdue).catch(error => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async #close({ organization_id: organizationId, session_id: sessionId, id }: Overdue): Promise<void> {
    const { db, clock, wakeups } = this.#context
    const key = { organizationId, sessionId }
    const closed = await db.transaction(async tx => {
      await lockSessionOf(tx, key)
      const row = await findInteraction(tx, key, id)
      const now = clock.now()
      if (row === null || (await closeInteractions(tx, key, 'timed_out', now, { id })) === 0) return false
      await letRunGoOn(tx, key, row.run_id, now)
      return true
    })
    if (!closed) return
    const session = topics.session(organizationId, sessionId)
    wakeups.publish(session, topics.control(organizationId, sessionId), topics.queue)
  }
}
