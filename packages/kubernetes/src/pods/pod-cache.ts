import type { Clock } from '@berth/platform/kit/clock.ts'
import { ClusterError, WatchExpired } from '../api/cluster-error.ts'
import type { ObservedPod } from '../api/observe-pod.ts'
import type { ListedPods, Pods } from '../api/pods.ts'
import type { Patience } from './patience.ts'

export interface PodCacheOptions {
  readonly pods: Pods
  readonly patience: Patience
  readonly clock: Clock
  readonly changed: () => void
  /** Told of each request that failed. */
  readonly failed: (error: unknown) => void
}

/** A watch shorter than this brings nothing: an API server that ends each at once would be asked without end. */
const SHORT_MS = 1_000

/** The pods of a scope as the API server last told, kept by a list and the watches that go on from it. */
export class PodCache {
  readonly #options: PodCacheOptions
  #pods: Map<string, ObservedPod> | null = null

  constructor(options: PodCacheOptions) {
    this.#options = options
  }

  /** Returns the pods; null before the first list. */
  all(): readonly ObservedPod[] | null {
    return this.#pods === null ? null : [...this.#pods.values()]
  }

  /** Notes a pod that was just created, before a watch tells of it: the next plan must count it. */
  note(pod: ObservedPod): void {
    if (this.#pods !== null && !this.#pods.has(pod.uid)) this.#pods.set(pod.uid, pod)
  }

  /** Follows the pods until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { patience, failed } = this.#options
    while (!signal.aborted) {
      try {
        await patience.wait(signal)
        await this.#watch(await this.#list(signal), signal)
      } catch (error) {
        if (signal.aborted) return
        failed(error)
        // The list that follows tells whether the API server is well; a state that is too old is no fault of its.
        if (!(error instanceof WatchExpired)) patience.failed(error)
      }
    }
  }

  async #list(signal: AbortSignal): Promise<ListedPods> {
    const { pods, patience, changed } = this.#options
    const list = await pods.list(signal)
    this.#pods = new Map(list.pods.map(pod => [pod.uid, pod]))
    patience.succeeded()
    changed()
    return list
  }

  async #watch(list: ListedPods, signal: AbortSignal): Promise<never> {
    const { pods, patience, clock, changed, failed } = this.#options
    let { version } = list
    for (;;) {
      signal.throwIfAborted()
      const began = clock.now().getTime()
      try {
        for await (const change of pods.watch(version, signal)) {
          ;({ version } = change)
          if (change.kind === 'there') this.#pods?.set(change.pod.uid, change.pod)
          if (change.kind === 'gone') this.#pods?.delete(change.pod.uid)
          if (change.kind !== 'bookmark') changed()
        }
        if (clock.now().getTime() - began < SHORT_MS) throw new ClusterError('a watch ended as soon as it began')
        patience.succeeded()
      } catch (error) {
        if (signal.aborted || error instanceof WatchExpired) throw error
        failed(error)
        patience.failed(error)
        await patience.wait(signal)
      }
    }
  }
}
