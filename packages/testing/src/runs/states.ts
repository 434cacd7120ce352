import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { endLease } from '@berth/core/sessions/leases/end-lease.ts'
import { insertLease, markAttached } from '@berth/core/sessions/leases/lease-sql.ts'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import { markRunning } from '@berth/core/sessions/runs/run-sql.ts'
import { lockSession } from '@berth/core/sessions/session/session-sql.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'

/** Stands in for a worker: brings about states that only a worker can, for tests of the API that need no sandbox. */
export class WorkerStandIn {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Attaches a sandbox that does not exist, for a minute. */
  async attach(session: Session): Promise<void> {
    await this.#db.transaction(async tx => {
      const id = randomUUID()
      await insertLease(tx, keyOf(session), {
        id,
        driver: 'none',
        host: 'nowhere',
        runtime: 'shell',
        idleMs: 60_000,
        maxMs: 120_000,
        now: new Date(),
      })
      await markAttached(tx, id, new Date())
    })
  }

  /** Ends the lease as if its sandbox were lost. */
  async loseSandbox(session: Session): Promise<void> {
    await this.#db.transaction(async tx => {
      await lockSession(tx, keyOf(session))
      await endLease(tx, keyOf(session), 'lost', new Date())
    })
  }

  /** Brings a queued Run to `running`. */
  async start(session: Session, runId: string): Promise<void> {
    await this.#db.transaction(tx => markRunning(tx, keyOf(session), runId, new Date()))
  }

  /** Ends the Run. With `seal`, the worker that claimed it then seals it. */
  async end(
    session: Session,
    runId: string,
    outcome: Outcome = { status: 'completed' },
    options: { readonly seal?: boolean } = {},
  ): Promise<void> {
    await this.#db.transaction(async tx => {
      await lockSession(tx, keyOf(session))
      await endRun(tx, keyOf(session), runId, outcome, new Date(), options)
    })
  }

  /** Sets the number of Turns that the Session has admitted. */
  async countTurns(session: Session, count: number): Promise<void> {
    await this.#db.query('update sessions set turn_count = $3 where organization_id = $1 and id = $2', [
      session.organizationId,
      session.id,
      count,
    ])
  }
}

export const keyOf = (session: Session) => ({ organizationId: session.organizationId, sessionId: session.id })
