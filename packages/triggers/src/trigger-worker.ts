import { limits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { Underway } from '@berth/platform/kit/underway.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { WokenService } from '@berth/platform/storage/postgres/woken-service.ts'
import { admitDelivery } from './admit-delivery.ts'
import { ChangesDeliverer } from './deliver/changes-deliverer.ts'
import { deliverOf } from './deliver/deliver-of.ts'
import { claimedDeliveries, type DueDelivery, endDelivery, insertDelivery, sessionOf } from './delivery-sql.ts'
import { fillTemplate } from './message-template.ts'
import { nextOccurrence } from './occurrences.ts'
import { pauseAfter } from './pause-after.ts'
import { closeReportsOf, openReport } from './reports/report-sql.ts'
import { runsScripts } from './runs-scripts.ts'
import { type DueTrigger, setNextOccurrence, takeDueTriggers } from './trigger-sql.ts'

const SWEEP_MS = 1_000
/** Triggers that fire in one transaction. */
const FIRED_AT_ONCE = 50
/** Deliveries that a process admits side by side, each with a connection to the database at times. */
const ADMITTED_AT_ONCE = 8
/** Those of one organization, whose Git host may be slow. */
const OF_ORGANIZATION_AT_ONCE = 2
/** Whoever takes a delivery has ended it, or has died, by then. */
const CLAIM_MS = 60_000
/** After so many tries, which take a day, a delivery is refused for good. */
const TRIES_MOST = 150

/**
 * Fires schedules, makes the Sessions of deliveries, and publishes the changes of their Runs. It runs in every process that answers the API; locks and the key
 * of a delivery let one of them win.
 */
export class TriggerWorker extends WokenService {
  override readonly name = 'trigger-worker'
  readonly #context: Context
  readonly #underway = new Underway({ most: ADMITTED_AT_ONCE, ofOwner: OF_ORGANIZATION_AT_ONCE })
  readonly #changes: ChangesDeliverer

  constructor(context: Context, sweepMs: number = SWEEP_MS) {
    // The end of a Run lets the next delivery of its conversation in.
    super(context.wakeups, [topics.triggers, topics.queue], sweepMs)
    this.#context = context
    this.#changes = new ChangesDeliverer(context, () => this.wakeAgain())
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.settled()
  }

  /** Fires the schedules that are due, and begins to make Sessions of deliveries and to publish. @throws the first failure of schedules */
  async round(): Promise<void> {
    // A failure of schedules keeps no delivery of another system waiting.
    const [fired] = await Promise.allSettled([this.#fire()])
    const [taken] = await Promise.allSettled([this.#take()])
    await this.#changes.round()
    if (taken.status === 'rejected') throw taken.reason
    if (fired.status === 'rejected') throw fired.reason
  }

  /** Resolves when every delivery that was begun has ended, or is to be tried again later. */
  async settled(): Promise<void> {
    await Promise.all([this.#underway.settled(), this.#changes.settled()])
  }

  /** Takes deliveries while there is room. An organization's next ones wait for its last ones, and nobody else's do. */
  async #take(): Promise<void> {
    const { db, clock } = this.#context
    const { room, owners } = this.#underway
    if (room === 0) return
    const now = clock.now()
    const by = { now, until: new Date(now.getTime() + CLAIM_MS) }
    for (const due of await claimedDeliveries.claim<DueDelivery>(db, by, room, [OF_ORGANIZATION_AT_ONCE, owners])) {
      const work = this.#admit(due).catch(error => this.failed(error))
      this.#underway.add(due.organization_id, work)
      void work.then(() => this.wakeAgain())
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
        const at = trigger.due_at?.toISOString() ?? ''
        const filled = fillTemplate(trigger.message, { occurrence: at }, limits.messageCharacters)
        if (filled.kind === 'message' && filled.message.trim() !== '') {
          const { message } = filled
          const isScript = runsScripts(this.#context.runtimes, trigger.session)
          const deliver = deliverOf(trigger, { occurrence: at })
          const own = { thread: null, sessionId: null, signature: null, event: null }
          const delivery = { key: at, message, isScript, ...own, deliver }
          if (!(await insertDelivery(tx, key, delivery, now)))
            this.#context.log.warn({ triggerId: trigger.id, at }, 'a schedule did not fire: too many deliveries wait')
        }
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

  async #admit(due: DueDelivery): Promise<unknown> {
    const { db, clock } = this.#context
    const { tries } = due
    // The tries before either failed in an unknown way or ended their process.
    if (tries > TRIES_MOST) return endDelivery(db, due, 'refused', due.error_code ?? 'internal_error')
    const admission = await admitDelivery(this.#context, due)
    if (admission.kind === 'admitted') {
      await db.transaction(async tx => {
        const isOurs = (await endDelivery(tx, due, 'admitted', null)) !== null
        if (!isOurs || due.event === null) return
        await closeReportsOf(tx, due.organization_id, sessionOf(due), clock.now())
        await openReport(tx, due, sessionOf(due), clock.now())
      })
      this.#context.wakeups.publish(topics.triggers)
      return
    }
    const { errorCode } = admission
    if (admission.kind === 'refused' || tries >= TRIES_MOST) return endDelivery(db, due, 'refused', errorCode)
    const pauseMs = Math.max(admission.retryAfterMs, pauseAfter(tries))
    const dueAt = new Date(clock.now().getTime() + pauseMs)
    return claimedDeliveries.release(db, due.claim, { due_at: dueAt, error_code: errorCode })
  }
}
