import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Preview } from './preview.ts'
import { deletePreview, writePreview } from './preview-sql.ts'

/** Shortest time between two previews of a Run. */
const PACE_MS = 150
/** How long a writer that nobody watches rests, unless it is told that somebody has begun to. */
const REST_MS = 5_000

/**
 * Shows a Run's present to whoever watches it. A preview is no fact: it is never kept, and a failure to write one is of no
 * consequence. While nobody watches, a Run costs a statement every few seconds in which its agent says something.
 */
export class PreviewWriter implements AsyncDisposable {
  readonly #context: Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>
  readonly #key: SessionKey
  readonly #runId: string
  readonly #snapshot: () => Preview
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #notBefore = 0
  #last = ''
  #closed = false

  /** @param snapshot returns what there is to show */
  constructor(
    context: Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>,
    key: SessionKey,
    runId: string,
    snapshot: () => Preview,
  ) {
    this.#context = context
    this.#key = key
    this.#runId = runId
    this.#snapshot = snapshot
  }

  /** Notes that there may be something new to show. */
  changed(): void {
    if (this.#closed || this.#timer !== undefined) return
    const waitMs = this.#notBefore - this.#context.clock.now().getTime()
    // The next change looks again: no timer runs for a Run that nobody watches.
    if (waitMs > PACE_MS) return
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, waitMs))
  }

  /** Notes that somebody may have begun to watch. */
  watched(): void {
    this.#notBefore = 0
    this.changed()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#writing
    if (this.#last === '') return
    try {
      if (await deletePreview(this.#context.db, this.#key, this.#runId)) this.#notify()
    } catch (error) {
      this.#context.log.debug({ err: error }, 'a preview could not be deleted')
    }
  }

  #fire(): void {
    this.#timer = undefined
    this.#writing = this.#write().catch(error => {
      this.#context.log.debug({ err: error }, 'a preview could not be written')
      this.#notBefore = this.#context.clock.now().getTime() + REST_MS
    })
  }

  async #write(): Promise<void> {
    const { db, clock } = this.#context
    const now = clock.now()
    this.#notBefore = now.getTime() + PACE_MS
    const preview = JSON.stringify(this.#snapshot())
    if (preview === this.#last) return
    const isWatched = await writePreview(db, this.#key, this.#runId, preview, now)
    if (isWatched) {
      this.#last = preview
      this.#notify()
    } else if (this.#notBefore !== 0) {
      this.#notBefore = now.getTime() + REST_MS
    }
  }

  #notify(): void {
    this.#context.wakeups.publish(topics.preview(this.#key.organizationId, this.#key.sessionId))
  }
}
