import type { Context } from '@berth/core/context.ts'
import { Underway } from '@berth/platform/kit/underway.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { pauseAfter } from '../pause-after.ts'
import { claimChanges, type DueChanges, releaseChanges } from './changes-sql.ts'
import { bringFurther } from './deliver-changes.ts'

const AT_ONCE = 8
/** Those of one organization, whose sandboxes may be slow. */
const OF_ORGANIZATION_AT_ONCE = 2
/** Whoever brings changes a step further is done, or has died, by then. */
const CLAIM_MS = 120_000
/** Longest that a step may take, which is less. */
const STEP_MS = 60_000
/** After so many tries of one step, which take a day, nothing is published. */
const TRIES_MOST = 150

/** Publishes the changes of the Runs of triggers that deliver, step by step; its worker gives it the time. */
export class ChangesDeliverer {
  readonly #context: Context
  readonly #wake: () => unknown
  readonly #underway = new Underway({ most: AT_ONCE, ofOwner: OF_ORGANIZATION_AT_ONCE })

  /** @param wake is called when a step has ended */
  constructor(context: Context, wake: () => unknown) {
    this.#context = context
    this.#wake = wake
  }

  /** Begins the steps that are due, as far as there is room. */
  async round(): Promise<void> {
    const { db, clock } = this.#context
    while (this.#underway.room > 0) {
      const now = clock.now()
      const by = { now, until: new Date(now.getTime() + CLAIM_MS) }
      const due = await claimChanges(db, by, this.#underway.full)
      if (due === null) return
      const work = this.#step(due).catch(error => this.#failed(error))
      this.#underway.add(due.organization_id, work)
      void work.then(this.#wake)
    }
  }

  /** Resolves when no step is under way. */
  settled(): Promise<void> {
    return this.#underway.settled()
  }

  async #step(due: DueChanges): Promise<void> {
    const { db, clock, wakeups } = this.#context
    const step = await bringFurther(this.#context, due, AbortSignal.timeout(STEP_MS))
    const now = clock.now()
    if (step.kind === 'not_now' && due.tries < TRIES_MOST) {
      const dueAt = new Date(now.getTime() + Math.max(step.retryAfterMs, pauseAfter(due.tries)))
      await releaseChanges(db, due, { tries: due.tries + 1, deliver_error: step.errorCode, due_at: dueAt })
      return
    }
    const columns =
      step.kind === 'further'
        ? step.columns
        : {
            deliver_state: step.kind === 'ended' ? step.state : ('failed' as const),
            deliver_error: step.errorCode,
          }
    await releaseChanges(db, due, { deliver_error: null, ...columns, tries: 0, due_at: now })
    wakeups.publish(topics.triggers)
  }

  #failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; changes are published once it is back',
      failed: 'could not publish the changes of a trigger; it is tried again once the claim has lapsed',
    })
  }
}
