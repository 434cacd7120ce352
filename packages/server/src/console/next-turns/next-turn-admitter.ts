import { isUnauthorized } from '@berth/core/sessions/runs/authority-sql.ts'
import { lockSession } from '@berth/core/sessions/session/session-sql.ts'
import { Sweeper } from '@berth/core/sessions/session/sweeper.ts'
import { beginTurn } from '@berth/core/sessions/turns/admit-turn.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type DueNextTurn, deleteNextTurn, findDueNextTurns, findNextTurn, refuseNextTurn } from './next-turn-sql.ts'

/**
 * Turns the messages that wait into Turns, as soon as their Session has no active Run. A Turn that is refused leaves its
 * message with the reason.
 */
export class NextTurnAdmitter extends Sweeper<DueNextTurn> {
  readonly name = 'next-turn-admitter'
  protected readonly messages = {
    waiting: 'the database is away; messages that wait become turns once it is back',
    failed: 'could not admit a message that waited; the next sweep tries again',
  }

  /** Whatever ends a Run wakes the queue, because other Runs may wait for the place. */
  subscribe(wake: () => void): () => void {
    return this.context.wakeups.subscribe(topics.queue, wake)
  }

  protected find(atMost: number): Promise<readonly DueNextTurn[]> {
    return findDueNextTurns(this.context.db, atMost)
  }

  protected async sweep({ turnId, ...key }: DueNextTurn): Promise<void> {
    const { db, wakeups } = this.context
    try {
      if (!(await db.transaction(tx => this.#admitLocked(tx, key, turnId)))) return
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // The refusal undid the Turn with its Run.
      await refuseNextTurn(db, key, turnId, error.code)
      return
    }
    wakeups.publish(topics.session(key.organizationId, key.sessionId), topics.queue)
  }

  /**
   * @returns false if the message was admitted, withdrawn or replaced meanwhile, or a Run has begun
   * @throws ApiError as `submitTurn` refuses a Turn
   */
  async #admitLocked(tx: Queryable, key: SessionKey, turnId: string): Promise<boolean> {
    const session = await lockSession(tx, key)
    const next = await findNextTurn(tx, key)
    if (session === null || next?.turn_id !== turnId || next.refused_code !== null) return false
    if (session.active_run_id !== null) return false
    const { message, author_id: id } = next
    const author = { kind: 'person', id } as const
    const turn = {
      id: turnId,
      message,
      replyTo: null,
      output: null,
      steers: false,
      files: [],
      author,
      now: this.context.clock.now(),
    }
    const { row } = await beginTurn(this.context, tx, session, turn)
    // Whoever wrote it may have left since; a Run of theirs would end before it begins, and the text would be gone.
    if (await isUnauthorized(tx, key, row.run_id)) throw refusal('insufficient_scope')
    await deleteNextTurn(tx, key)
    return true
  }
}
