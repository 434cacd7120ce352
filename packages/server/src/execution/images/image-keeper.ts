import { claimTrial, listImageDigests, recordStarted, recordUnavailable } from '../../environments/images/image-sql.ts'
import { LoopingService } from '../../kit/looping-service.ts'
import { listShownImages } from '../../sessions/leases/lease-image-sql.ts'
import { logFailure } from '../../storage/postgres/log-failure.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { platformOf } from './image-key.ts'
import { startOnce } from './start-once.ts'

const HOUR_MS = 60 * 60_000
/** After this time another worker may try an image again. */
const TRIAL_MS = 5 * 60_000

/** Starts each new image once, so that it counts from then on, and bounds the images that this host keeps. */
export class ImageKeeper extends LoopingService {
  override readonly name = 'image-keeper'
  readonly #context: ExecutionContext
  readonly #stopping = new AbortController()
  #tidiedAt = 0

  constructor(context: ExecutionContext) {
    super(context.limits.sweepMs)
    this.#context = context
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the service stops'))
    await super[Symbol.asyncDispose]()
  }

  protected async round(): Promise<void> {
    while (!this.#stopping.signal.aborted && (await this.#tryOne()));
    if (performance.now() - this.#tidiedAt < HOUR_MS && this.#tidiedAt !== 0) return
    await this.#tidy()
    this.#tidiedAt = performance.now()
  }

  protected failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return
    logFailure(this.#context.log, error, {
      waiting: 'trying images waits for the database',
      failed: 'an image could not be tried, or images could not be tidied',
    })
  }

  async #tryOne(): Promise<boolean> {
    const { db, driver, clock, log } = this.#context
    const now = clock.now()
    const image = await claimTrial(db, platformOf(driver), now, new Date(now.getTime() + TRIAL_MS))
    if (image === null) return false
    const fault = await startOnce(this.#context, image, this.#stopping.signal)
    if (fault === null) await recordStarted(db, image.id)
    else {
      log.warn({ imageId: image.id, fault }, 'no sandbox starts from an image')
      await recordUnavailable(db, image.id, fault)
    }
    return true
  }

  async #tidy(): Promise<void> {
    const { db, host, images, log } = this.#context
    const known = new Set(await listImageDigests(db))
    const shown = async () => new Set(await listShownImages(db, host))
    const removed = await images.tidy({ known, shown }, this.#stopping.signal)
    if (removed > 0) log.info({ removed }, 'removed images that no sandbox of this host shows')
  }
}
