import type { Context } from '@berth/core/context.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { listPushedOrganizations } from './subscription-sql.ts'

/** After so long everything is looked at again, in case a wake-up was missed. */
const RESCAN_MS = 15_000
/** Sessions of one organization remembered by id; beyond it all are looked at. */
const MOST_NAMED = 1_000

/** The Sessions of an organization that may have news; null: any of them. */
interface Moved {
  readonly organizationId: string
  readonly ids: readonly string[] | null
}

interface Watched {
  ids: Set<string> | null
  readonly end: () => void
}

/** Gathers which Sessions have moved, in the organizations that have browsers to push to. */
export class NewsWatch implements Disposable {
  readonly #context: Pick<Context, 'db' | 'wakeups' | 'clock'>
  readonly #watched = new Map<string, Watched>()
  #unsubscribe = () => {}
  #listAgain = true
  #rescannedAt = 0

  constructor(context: Pick<Context, 'db' | 'wakeups' | 'clock'>) {
    this.#context = context
  }

  /** @param wake is called when a browser comes, or something is to be pushed at once */
  start(wake: () => void): void {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.pushes, () => {
      this.#listAgain = true
      wake()
    })
  }

  /** Whether there is anybody to push to. */
  get isNeeded(): boolean {
    return this.#watched.size > 0
  }

  /** Returns the organizations whose Sessions moved since the last call. */
  async take(): Promise<readonly Moved[]> {
    const now = this.#context.clock.now().getTime()
    const rescans = Math.abs(now - this.#rescannedAt) >= RESCAN_MS
    if (this.#listAgain || rescans) await this.#list()
    if (rescans) {
      this.#rescannedAt = now
      for (const watched of this.#watched.values()) watched.ids = null
    }
    const moved: Moved[] = []
    for (const [organizationId, watched] of this.#watched) {
      if (watched.ids?.size === 0) continue
      moved.push({ organizationId, ids: watched.ids && [...watched.ids] })
      watched.ids = new Set()
    }
    return moved
  }

  /** Looks at an organization again whose news could not be read. */
  putBack(organizationId: string): void {
    const watched = this.#watched.get(organizationId)
    if (watched !== undefined) watched.ids = null
  }

  [Symbol.dispose](): void {
    this.#unsubscribe()
    for (const { end } of this.#watched.values()) end()
    this.#watched.clear()
  }

  async #list(): Promise<void> {
    this.#listAgain = false
    const organizations = new Set(
      await listPushedOrganizations(this.#context.db).catch(error => {
        this.#listAgain = true
        throw error
      }),
    )
    for (const [id, { end }] of this.#watched) {
      if (organizations.has(id)) continue
      end()
      this.#watched.delete(id)
    }
    for (const id of organizations) {
      if (this.#watched.has(id)) continue
      const end = this.#context.wakeups.subscribe(topics.organization(id), topic => this.#note(id, topic))
      // Changes before the browser came are no news to it, but one at this moment may be.
      this.#watched.set(id, { ids: null, end })
    }
  }

  #note(organizationId: string, topic: string | null): void {
    const watched = this.#watched.get(organizationId)
    if (watched === undefined || watched.ids === null) return
    if (topic === null || watched.ids.size === MOST_NAMED) watched.ids = null
    else watched.ids.add(topic.slice(topic.lastIndexOf('/') + 1))
  }
}
