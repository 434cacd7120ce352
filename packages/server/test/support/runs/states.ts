import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { endLease } from '../../../src/sessions/leases/end-lease.ts'
import { insertLease, markAttached } from '../../../src/sessions/leases/lease-sql.ts'
import { endRun } from '../../../src/sessions/runs/end-run.ts'
import type { Outcome } from '../../../src/sessions/runs/run.ts'
import { markRunning } from '../../../src/sessions/runs/run-sql.ts'
import { lockSession } from '../../../src/sessions/session/session-sql.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'

/** What only a worker brings about, done in its place: for tests of the API that need the state and no sandbox. */
export class WorkerStandIn {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Attaches a sandbox that is not there, for a minute. */
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
      await markAttached(tx, id)
    })
  }

  /** Ends the lease as a sandbox that was lost. */
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

  /** With `seal`, whoever has claimed it goes on to seal it. */
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

  /** Lets a Session have admitted that many Turns. */
  async countTurns(session: Session, count: number): Promise<void> {
    await this.#db.query('update sessions set turn_count = $3 where organization_id = $1 and id = $2', [
      session.organizationId,
      session.id,
      count,
    ])
  }
}

export const keyOf = (session: Session) => ({ organizationId: session.organizationId, sessionId: session.id })
