import type { Clock } from '../../kit/clock.ts'
import { ClusterError } from '../api/cluster-error.ts'
import type { Named } from '../api/objects.ts'
import type { ObservedSandbox } from '../api/observe-sandbox.ts'
import type { Sandboxes } from '../api/sandboxes.ts'
import { ObjectCache } from './object-cache.ts'
import { Patience, passes } from './patience.ts'
import type { SandboxChoice } from './sandbox-choice.ts'
import type { SandboxTemplate } from './sandbox-manifest.ts'

export interface SandboxOptions {
  readonly objects: Sandboxes
  readonly choice: Pick<SandboxChoice, 'current' | 'doubt' | 'refresh'>
  readonly template: SandboxTemplate
  /** A Sandbox of a service that is away for so long ends; half of it later each is postponed. */
  readonly lifeMs: number
}

/** Means that a provisioner lends the keeper of its Sandboxes. */
export interface KeeperMeans {
  readonly clock: Clock
  /** For everything that asks the API server. */
  readonly patience: Patience
  readonly changed: () => void
  readonly failed: (error: unknown) => void
  readonly leastPauseMs?: number
}

/** Sandboxes that one round postpones at most. */
const POSTPONED_AT_ONCE = 50

/** Knows the Sandboxes of a provisioner while they are in use, makes and deletes them, and keeps them from expiring. */
export class SandboxKeeper implements AsyncDisposable {
  readonly #options: SandboxOptions
  readonly #means: KeeperMeans
  #watched: { readonly cache: ObjectCache<ObservedSandbox>; stop(): Promise<void> } | null = null

  constructor(options: SandboxOptions, means: KeeperMeans) {
    this.#options = options
    this.#means = means
  }

  /** Whether new pods are made through Sandboxes. */
  get isUsed(): boolean {
    return this.#watched !== null
  }

  /** Returns the Sandboxes, none if they are not in use; null before the first answers of the API server. */
  all(): readonly ObservedSandbox[] | null {
    if (this.#options.choice.current === null) return null
    return this.#watched === null ? [] : this.#watched.cache.all()
  }

  /** Decides anew whether Sandboxes are in use, and postpones the end of those that are. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { choice } = this.#options
    try {
      await choice.refresh(signal)
      const isWanted = choice.current === true
      if (isWanted && this.#watched === null) this.#watched = this.#watch()
      if (!isWanted) await this.#stop()
      await this.#postpone(signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ClusterError)) throw error
      this.#means.failed(error)
      this.refused(error)
      // A refusal says nothing about other requests.
      if (passes(error) || choice.current === null) this.#means.patience.failed(error)
    }
  }

  async create(address: string, signal: AbortSignal): Promise<void> {
    const { objects, template } = this.#options
    this.#watched?.cache.note(await objects.create(template.manifest(address, this.#until()), signal))
  }

  async delete(sandbox: Named, signal: AbortSignal): Promise<void> {
    await this.#options.objects.delete(sandbox, signal)
  }

  /** Hears of an error: one that refuses may mean that the resource, or the right to it, is gone. */
  refused(error: unknown): void {
    if (error instanceof ClusterError && (error.status === 403 || error.status === 404)) this.#options.choice.doubt()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }

  #watch() {
    const { clock, patience, changed, failed, leastPauseMs } = this.#means
    const over = new AbortController()
    const cache = new ObjectCache<ObservedSandbox>({
      ...{ objects: this.#options.objects, clock, changed },
      // Of its own: a cluster without Sandboxes still has pods.
      patience: new Patience(clock, leastPauseMs),
      failed: error => {
        failed(error)
        this.refused(error)
        if (passes(error)) patience.failed(error)
      },
    })
    const following = cache.follow(over.signal)
    return {
      cache,
      stop: async () => {
        over.abort(new Error('Sandboxes are not in use any more'))
        await following
      },
    }
  }

  async #stop(): Promise<void> {
    const watched = this.#watched
    this.#watched = null
    await watched?.stop()
  }

  async #postpone(signal: AbortSignal): Promise<void> {
    const { objects, lifeMs } = this.#options
    const late = this.#means.clock.now().getTime() + lifeMs / 2
    const due = (this.#watched?.cache.all() ?? []).filter(
      ({ shutdownAt, isEnding }) => !isEnding && (shutdownAt?.getTime() ?? 0) < late,
    )
    for (const sandbox of due.slice(0, POSTPONED_AT_ONCE)) {
      try {
        this.#watched?.cache.renew(await objects.postpone(sandbox, this.#until(), signal))
      } catch (error) {
        // It is gone, and the watch has yet to tell.
        const isGone = error instanceof ClusterError && (error.status === 404 || error.status === 409)
        if (!isGone) throw error
      }
    }
  }

  #until(): Date {
    return new Date(this.#means.clock.now().getTime() + this.#options.lifeMs)
  }
}
