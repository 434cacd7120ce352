import type { Clock } from '../../kit/clock.ts'
import { ClusterError, WatchExpired } from '../api/cluster-error.ts'
import type { Listed, Named, Objects } from '../api/objects.ts'
import type { Patience } from './patience.ts'

export interface ObjectCacheOptions<T extends Named> {
  readonly objects: Objects<T>
  readonly patience: Patience
  readonly clock: Clock
  readonly changed: () => void
  /** Told of each request that failed. */
  readonly failed: (error: unknown) => void
}

/** A watch shorter than this brings nothing: an API server that ends each at once would be asked without end. */
const SHORT_MS = 1_000

/** The objects of a scope as the API server last told, kept by a list and the watches that go on from it. */
export class ObjectCache<T extends Named> {
  readonly #options: ObjectCacheOptions<T>
  #objects: Map<string, T> | null = null

  constructor(options: ObjectCacheOptions<T>) {
    this.#options = options
  }

  /** Returns the objects; null before the first list. */
  all(): readonly T[] | null {
    return this.#objects === null ? null : [...this.#objects.values()]
  }

  /** Notes an object that was just created, before a watch tells of it: the next plan must count it. */
  note(object: T): void {
    if (this.#objects !== null && !this.#objects.has(object.uid)) this.#objects.set(object.uid, object)
  }

  /** Notes a change that was just made; an object that is gone by now stays gone. */
  renew(object: T): void {
    if (this.#objects?.has(object.uid)) this.#objects.set(object.uid, object)
  }

  /** Follows the objects until the signal aborts. */
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

  async #list(signal: AbortSignal): Promise<Listed<T>> {
    const { objects, patience, changed } = this.#options
    const list = await objects.list(signal)
    this.#objects = new Map(list.items.map(object => [object.uid, object]))
    patience.succeeded()
    changed()
    return list
  }

  async #watch(list: Listed<T>, signal: AbortSignal): Promise<never> {
    const { objects, patience, clock, changed, failed } = this.#options
    let { version } = list
    for (;;) {
      signal.throwIfAborted()
      const began = clock.now().getTime()
      try {
        for await (const change of objects.watch(version, signal)) {
          ;({ version } = change)
          if (change.kind === 'there') this.#objects?.set(change.object.uid, change.object)
          if (change.kind === 'gone') this.#objects?.delete(change.object.uid)
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
