import type { Context } from '../context.ts'
import { ApiError } from '../kit/api-error.ts'
import { LoopingService } from '../kit/looping-service.ts'
import { createSession } from '../sessions/create-session.ts'
import { logFailure } from '../storage/postgres/log-failure.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import { type DueDelivery, delayDelivery, endDelivery, insertDelivery, takeDueDeliveries } from './delivery-sql.ts'
import { derivedId } from './derived-id.ts'
import { fillTemplate } from './message-template.ts'
import { nextOccurrence } from './occurrences.ts'
import { standingOf } from './standing-sql.ts'
import { setNextOccurrence, type TriggerRow, takeDueTriggers } from './trigger-sql.ts'

const SWEEP_MS = 1_000
const AT_ONCE = 50
/** Whoever takes a delivery has ended it, or has died, by then. */
const TAKEN_MS = 60_000
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 10 * 60_000
/** After so many tries, which take a day, a delivery that is refused for now is refused for good. */
const TRIES_MOST = 150
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Fires schedules, and makes the Sessions of deliveries. It runs in every process that answers the API; locks and the key
 * of a delivery let one of them win.
 */
export class TriggerWorker extends LoopingService {
  override readonly name = 'trigger-worker'
  readonly #context: Context
  #unsubscribe: () => void = () => {}

  constructor(context: Context, sweepMs: number = SWEEP_MS) {
    super(sweepMs)
    this.#context = context
  }

  override async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.triggers, () => this.wake())
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    await super[Symbol.asyncDispose]()
  }

  /** Fires the schedules that are due, and makes Sessions of deliveries. @throws the first failure, after the last delivery */
  async round(): Promise<void> {
    await this.#fire()
    const { db, clock } = this.#context
    const now = clock.now()
    const failures: unknown[] = []
    for (const due of await takeDueDeliveries(db, now, new Date(now.getTime() + TAKEN_MS), AT_ONCE)) {
      await this.#admit(due).catch(error => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; triggers fire once it is back',
      failed: 'could not fire a trigger; the next sweep tries again',
    })
  }

  /** However many occurrences were missed, while no process ran for example, the first of them fires, and no other. */
  async #fire(): Promise<void> {
    const { db, clock, log } = this.#context
    await db.transaction(async tx => {
      const now = clock.now()
      for (const trigger of await takeDueTriggers(tx, now, AT_ONCE)) {
        const key = { organizationId: trigger.organization_id, triggerId: trigger.id }
        const at = trigger.next_at?.toISOString() ?? ''
        const message = fillTemplate(trigger.message, { occurrence: at })
        if (message.trim() !== '') await insertDelivery(tx, key, { key: at, message }, now)
        const nextAt = next(trigger, now)
        if (nextAt === null) log.warn({ triggerId: trigger.id }, 'a schedule fires no more')
        await setNextOccurrence(tx, trigger, nextAt)
      }
    })
  }

  async #admit(due: DueDelivery): Promise<void> {
    const { db, clock } = this.#context
    const { organization_id: organizationId, trigger_id: triggerId, key, message, tries } = due
    const principal = await standingOf(db, { organizationId, installationId: due.installation_id })
    if (principal === null) {
      await endDelivery(db, due, { status: 'refused', errorCode: 'authority_revoked' })
      return
    }
    const sessionId = derivedId('session', triggerId, key)
    const body = {
      ...due.session,
      origin: { objectType: 'trigger', objectId: triggerId },
      initialTurn: { id: derivedId('turn', triggerId, key), message },
    }
    try {
      await createSession(this.#context, principal, { organizationId, sessionId }, body)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // The Session was made by an earlier try, with the trigger as it was then.
      if (error.code === 'cloud_session_conflict') return endDelivery(db, due, { status: 'admitted', errorCode: null })
      if (!isPassing(error) || tries >= TRIES_MOST) {
        return endDelivery(db, due, { status: 'refused', errorCode: error.code })
      }
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 10))
      return delayDelivery(db, due, new Date(clock.now().getTime() + pauseMs), error.code)
    }
    await endDelivery(db, due, { status: 'admitted', errorCode: null })
  }
}

const isPassing = ({ status }: ApiError): boolean => status >= 500 || passing.has(status)

const next = ({ cron, time_zone: timeZone }: TriggerRow, after: Date): Date | null =>
  cron === null || timeZone === null ? null : nextOccurrence({ cron, timeZone }, after)
