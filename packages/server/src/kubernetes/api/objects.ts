import { isRecord } from '../../line/line-error.ts'
import type { ClusterApi } from './cluster-api.ts'
import { ClusterError } from './cluster-error.ts'
import { watchLines } from './watch-lines.ts'

/** Objects of a page of a list. */
const PAGE = 500
/** Pages of a list; more are a fault of the API server. */
const MAX_PAGES = 100
/** Time that a watch lasts. It goes on from where it was, so a short one costs a request a minute and finds dead connections. */
const WATCH_SECONDS = 60
/** A watch may end so much later. */
const WATCH_GRACE_MS = 10_000

/** The objects of a namespace that a label selector finds. */
export interface Scope {
  readonly namespace: string
  readonly selector: string
}

/** The identity of an observed object. The uid is never used again, the name may be. */
export interface Named {
  readonly name: string
  readonly uid: string
}

/** A kind of object, and how it is read. */
export interface Kind<T extends Named> {
  /** Group and version, as in `/apis/apps/v1`. */
  readonly root: string
  readonly plural: string
  /** Returns null for an object that is none of this kind. */
  observe(object: unknown): T | null
}

/** A list of objects, and the version of the cluster's state that it is of. */
export interface Listed<T> {
  readonly items: readonly T[]
  readonly version: string
}

/** A change that a watch tells of. */
export type Change<T> =
  | { readonly kind: 'there' | 'gone'; readonly object: T; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string }

/** Creates, lists, watches and deletes objects of one kind. */
export class Objects<T extends Named> {
  protected readonly api: ClusterApi
  readonly #kind: Kind<T>
  readonly #scope: Scope
  readonly #watchMs: number

  /** @param watchMs longest silence of a watch; tests make it shorter */
  constructor(api: ClusterApi, kind: Kind<T>, scope: Scope, watchMs: number = WATCH_SECONDS * 1000 + WATCH_GRACE_MS) {
    this.api = api
    this.#kind = kind
    this.#scope = scope
    this.#watchMs = watchMs
  }

  /** @throws ClusterError */
  async list(signal: AbortSignal): Promise<Listed<T>> {
    const { observe, plural } = this.#kind
    const found: T[] = []
    let from = ''
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { labelSelector: this.#scope.selector, limit: String(PAGE), ...(from !== '' && { continue: from }) }
      const answer = await this.api.ask({ method: 'GET', path: this.path(), query }, signal)
      const { items, metadata } = answer
      if (!Array.isArray(items) || !isRecord(metadata)) throw new ClusterError(`the API server listed no ${plural}`)
      for (const item of items) {
        const object = observe(item)
        if (object !== null) found.push(object)
      }
      const next = metadata['continue']
      if (typeof next !== 'string' || next === '') {
        return { items: found, version: String(metadata['resourceVersion'] ?? '') }
      }
      from = next
    }
    throw new ClusterError(`the API server lists more than ${PAGE * MAX_PAGES} ${plural}`)
  }

  /**
   * Tells of changes since a version, until the API server ends the watch.
   * @throws WatchExpired if the version is too old; ClusterError; the signal's reason
   */
  async *watch(version: string, signal: AbortSignal): AsyncGenerator<Change<T>> {
    const query = {
      labelSelector: this.#scope.selector,
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(WATCH_SECONDS),
    }
    const request = { method: 'GET', path: this.path(), query } as const
    for await (const { type, object } of watchLines(this.api, request, this.#watchMs, signal)) {
      const { metadata } = object
      const at = isRecord(metadata) ? String(metadata['resourceVersion'] ?? version) : version
      if (type === 'BOOKMARK') yield { kind: 'bookmark', version: at }
      const observed = this.#kind.observe(object)
      if (observed === null || type === 'BOOKMARK') continue
      yield { kind: type === 'DELETED' ? 'gone' : 'there', object: observed, version: at }
    }
  }

  /** @throws ClusterError */
  async create(manifest: object, signal: AbortSignal): Promise<T> {
    return this.read(await this.api.ask({ method: 'POST', path: this.path(), body: manifest }, signal))
  }

  /**
   * Returns an object; null if there is none of this name.
   * @throws ClusterError
   */
  async find(name: string, signal: AbortSignal): Promise<T | null> {
    try {
      return this.#kind.observe(await this.api.ask({ method: 'GET', path: this.path(name) }, signal))
    } catch (error) {
      if (error instanceof ClusterError && error.status === 404) return null
      throw error
    }
  }

  /**
   * Deletes an object, unless it is gone or another one has its name by now. It stays until those that it owns are gone.
   * @throws ClusterError
   */
  async delete({ name, uid }: Named, signal: AbortSignal): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, ...this.deletion() }
    try {
      await this.api.ask({ method: 'DELETE', path: this.path(name), body }, signal)
    } catch (error) {
      if (error instanceof ClusterError && (error.status === 404 || error.status === 409)) return
      throw error
    }
  }

  protected deletion(): object {
    return {}
  }

  /** @throws ClusterError for an object of another kind */
  protected read(answer: unknown): T {
    const object = this.#kind.observe(answer)
    if (object === null) throw new ClusterError(`the API server answered with something else than ${this.#kind.plural}`)
    return object
  }

  protected path(name?: string): string {
    const { root, plural } = this.#kind
    const all = `${root}/namespaces/${encodeURIComponent(this.#scope.namespace)}/${plural}`
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`
  }
}
