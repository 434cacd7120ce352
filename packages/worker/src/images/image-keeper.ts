import {
  claimTrial,
  countTrial,
  listImageDigests,
  recordStarted,
  recordUnavailable,
} from '@berth/core/environments/images/image-sql.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { atHost, type ExecutionContext, type WorkerContext } from '../claim/execution-context.ts'
import { platformOf } from './image-key.ts'
import { startOnce } from './start-once.ts'

const HOUR_MS = 60 * 60_000
/** After this time another worker may try an image again. */
const CLAIM_MS = 5 * 60_000
/** An image from which no sandbox started so often is given up. */
const MOST_TRIALS = 3

/** Starts each new image once, so that it counts from then on, and bounds the images that this host keeps. */
export class ImageKeeper implements PeriodicTask {
  readonly name = 'image-keeper'
  readonly intervalMs: number
  readonly #context: WorkerContext
  #tidiedAt = 0

  constructor(context: WorkerContext) {
    this.intervalMs = context.limits.sweepMs
    this.#context = context
  }

  async round(stopping: AbortSignal): Promise<void> {
    // One host of each platform tries for the others, too.
    const { hosts } = this.#context
    const trying = new Map(hosts.held().map(({ id, driver }) => [platformOf(driver), id]))
    for (const id of trying.values())
      while (!stopping.aborted && hosts.holds(id) && (await this.#tryOne(atHost(this.#context, id), stopping)));
    if (performance.now() - this.#tidiedAt < HOUR_MS && this.#tidiedAt !== 0) return
    await this.#tidy(stopping)
    this.#tidiedAt = performance.now()
  }

  failed(error: unknown, stopping: AbortSignal): void {
    if (stopping.aborted) return
    logFailure(this.#context.log, error, {
      waiting: 'trying images waits for the database',
      failed: 'an image could not be tried, or images could not be tidied',
    })
  }

  async #tryOne(context: ExecutionContext, stopping: AbortSignal): Promise<boolean> {
    const { db, driver, clock, log } = context
    const now = clock.now()
    const image = await claimTrial(db, platformOf(driver), { now, until: new Date(now.getTime() + CLAIM_MS) })
    if (image === null) return false
    const fault = await startOnce(context, image, stopping)
    if (fault === null) await recordStarted(db, image)
    else {
      log.warn({ imageId: image.id, fault }, 'no sandbox starts from an image')
      // A busy host may silence a sound one. Each later trial waits until the claim on this one has lapsed.
      const isCertain = fault !== 'does_not_start' || (await countTrial(db, image)) >= MOST_TRIALS
      if (isCertain) await recordUnavailable(db, image.id, fault)
    }
    return true
  }

  async #tidy(stopping: AbortSignal): Promise<void> {
    const { db, hosts, log } = this.#context
    for (const images of new Set(hosts.held().map(host => host.images))) {
      const removed = await images.tidy(new Set(await listImageDigests(db)), stopping)
      if (removed > 0) log.info({ removed }, 'removed images that no sandbox of this host shows')
    }
  }
}
