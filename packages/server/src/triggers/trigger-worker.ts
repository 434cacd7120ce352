import { limits } from '@berth/contract'
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
import { type DueTrigger, setNextOccurrence, takeDueTriggers } from './trigger-sql.ts'

const SWEEP_MS = 1_000
/** Triggers that fire in one transaction. */
const FIRED_AT_ONCE = 50
/** Deliveries that a process admits side by side, each with a connection to the database at times. */
const ADMITTED_AT_ONCE = 8
/** Those of one organization, whose Git host may be slow. */
const OF_ORGANIZATION_AT_ONCE = 2
/** Whoever takes a delivery has ended it, or has died, by then. */
const TAKEN_MS = 60_000
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 10 * 60_000
/** After so many tries, which take a day, a delivery is refused for good. */
const TRIES_MOST = 150
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Fires schedules, and makes the Sessions of deliveries. It runs in every process that answers the API; locks and the key
 * of a delivery let one of them win.
 */
export class TriggerWorker extends LoopingService {
  override readonly name = 'trigger-worker'
  readonly #context: Context
  readonly #underway = new Map<Promise<void>, string>()
  #unsubscribe: () => void = () => {}
  #isStarted = false

  constructor(context: Context, sweepMs: number = SWEEP_MS) {
    super(sweepMs)
    this.#context = context
  }

  override async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.triggers, () => this.wake())
    this.#isStarted = true
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    await super[Symbol.asyncDispose]()
    await this.settled()
  }

  /** Fires the schedules that are due, and begins to make Sessions of deliveries. @throws the first failure of schedules */
  async round(): Promise<void> {
    // A failure of schedules keeps no delivery of another system waiting.
    const [fired] = await Promise.allSettled([this.#fire()])
    await this.#take()
    if (fired.status === 'rejected') throw fired.reason
  }

  /** Resolves when every delivery that was begun has ended, or is to be tried again later. */
  async settled(): Promise<void> {
    while (this.#underway.size > 0) await Promise.all(this.#underway.keys())
  }

  /** Takes deliveries while there is room. An organization's next ones wait for its last ones, and nobody else's do. */
  async #take(): Promise<void> {
    const { db, clock } = this.#context
    const room = ADMITTED_AT_ONCE - this.#underway.size
    if (room === 0) return
    const now = clock.now()
    const taken = await takeDueDeliveries(db, {
      now,
      until: new Date(now.getTime() + TAKEN_MS),
      limit: room,
      ofOrganization: OF_ORGANIZATION_AT_ONCE,
      except: [...new Set(this.#underway.values())],
    })
    for (const due of taken) {
      const work: Promise<void> = this.#admit(due)
        .catch(error => this.failed(error))
        .finally(() => {
          this.#underway.delete(work)
          if (this.#isStarted) this.wake()
        })
      this.#underway.set(work, due.organization_id)
    }
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; triggers fire once it is back',
      failed: 'could not fire a trigger; the next sweep tries again',
    })
  }

  /** However many occurrences were missed, while no process ran for example, the first of them fires, and no other. */
  async #fire(): Promise<void> {
    const { db, clock } = this.#context
    await db.transaction(async tx => {
      const now = clock.now()
      for (const trigger of await takeDueTriggers(tx, now, FIRED_AT_ONCE)) {
        const key = { organizationId: trigger.organization_id, triggerId: trigger.id }
        const at = trigger.next_at?.toISOString() ?? ''
        const message = fillTemplate(trigger.message, { occurrence: at }, limits.messageCharacters)
        if (message !== null && message.trim() !== '') await insertDelivery(tx, key, { key: at, message }, now)
        await setNextOccurrence(tx, trigger, this.#next(trigger, now))
      }
    })
  }

  /** When a trigger fires next; null if it does so no more, which leaves the others of its transaction alone. */
  #next({ id, is_revoked, cron, time_zone: timeZone }: DueTrigger, after: Date): Date | null {
    if (is_revoked || cron === null || timeZone === null) return null
    try {
      const next = nextOccurrence({ cron, timeZone }, after)
      if (next === null) this.#context.log.warn({ triggerId: id }, 'a schedule fires no more')
      return next
    } catch (err) {
      // A release may know fewer time zones than the one that took the schedule.
      this.#context.log.error({ err, triggerId: id, cron, timeZone }, 'a schedule fires no more: it cannot be read')
      return null
    }
  }

  async #admit(due: DueDelivery): Promise<void> {
    const { db, clock } = this.#context
    const { organization_id: organizationId, trigger_id: triggerId, key, message, tries } = due
    // The tries before either failed in an unknown way or ended their process.
    if (tries > TRIES_MOST) {
      await endDelivery(db, due, { status: 'refused', errorCode: due.error_code ?? 'internal_error' })
      return
    }
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
