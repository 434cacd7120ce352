import { isObject } from '@berth/platform/kit/json.ts'
import type { ClusterApi } from './cluster-api.ts'
import { ClusterError } from './cluster-error.ts'
import { type ObservedPod, observePod } from './observe-pod.ts'
import { watchLines } from './watch-lines.ts'

/** Pods of a page of a list. */
const PAGE = 500
/** Pages of a list; more are a fault of the API server. */
const MAX_PAGES = 100
/** Time that a watch lasts. It goes on from where it was, so a short one costs a request a minute and finds dead connections. */
const WATCH_SECONDS = 60
/** A watch may end so much later. */
const WATCH_GRACE_MS = 10_000

/** The pods of a namespace that a label selector finds. */
export interface Scope {
  readonly namespace: string
  readonly selector: string
}

/** The identity of a pod. The uid is never used again, the name may be. */
export interface Named {
  readonly name: string
  readonly uid: string
}

/** A list of pods, and the version of the cluster's state that it is of. */
export interface ListedPods {
  readonly pods: readonly ObservedPod[]
  readonly version: string
}

/** A change that a watch tells of. */
export type PodChange =
  | { readonly kind: 'there' | 'gone'; readonly pod: ObservedPod; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string }

/** Creates, lists, watches and deletes pods. */
export class Pods {
  readonly #api: ClusterApi
  readonly #scope: Scope
  readonly #watchMs: number

  /** @param watchMs longest silence of a watch; tests make it shorter */
  constructor(api: ClusterApi, scope: Scope, watchMs: number = WATCH_SECONDS * 1000 + WATCH_GRACE_MS) {
    this.#api = api
    this.#scope = scope
    this.#watchMs = watchMs
  }

  /** @throws ClusterError */
  async list(signal: AbortSignal): Promise<ListedPods> {
    const found: ObservedPod[] = []
    let from = ''
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { labelSelector: this.#scope.selector, limit: String(PAGE), ...(from !== '' && { continue: from }) }
      const answer = await this.#api.ask({ method: 'GET', path: this.#path(), query }, signal)
      const { items, metadata } = answer
      if (!Array.isArray(items) || !isObject(metadata)) throw new ClusterError(`the API server listed no pods`)
      for (const item of items) {
        const pod = observePod(item)
        if (pod !== null) found.push(pod)
      }
      const next = metadata['continue']
      if (typeof next !== 'string' || next === '') {
        return { pods: found, version: String(metadata['resourceVersion'] ?? '') }
      }
      from = next
    }
    throw new ClusterError(`the API server lists more than ${PAGE * MAX_PAGES} pods`)
  }

  /**
   * Tells of changes since a version, until the API server ends the watch.
   * @throws WatchExpired if the version is too old; ClusterError; the signal's reason
   */
  async *watch(version: string, signal: AbortSignal): AsyncGenerator<PodChange> {
    const query = {
      labelSelector: this.#scope.selector,
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(WATCH_SECONDS),
    }
    const request = { method: 'GET', path: this.#path(), query } as const
    for await (const { type, object } of watchLines(this.#api, request, this.#watchMs, signal)) {
      const { metadata } = object
      const at = isObject(metadata) ? String(metadata['resourceVersion'] ?? version) : version
      if (type === 'BOOKMARK') yield { kind: 'bookmark', version: at }
      const pod = observePod(object)
      if (pod === null || type === 'BOOKMARK') continue
      yield { kind: type === 'DELETED' ? 'gone' : 'there', pod, version: at }
    }
  }

  /** @throws ClusterError */
  async create(manifest: object, signal: AbortSignal): Promise<ObservedPod> {
    const pod = observePod(await this.#api.ask({ method: 'POST', path: this.#path(), body: manifest }, signal))
    if (pod === null) throw new ClusterError('the API server answered with something else than pods')
    return pod
  }

  /**
   * Returns a pod; null if there is none of this name.
   * @throws ClusterError
   */
  async find(name: string, signal: AbortSignal): Promise<ObservedPod | null> {
    try {
      return observePod(await this.#api.ask({ method: 'GET', path: this.#path(name) }, signal))
    } catch (error) {
      if (error instanceof ClusterError && error.status === 404) return null
      throw error
    }
  }

  /**
   * Deletes a pod, unless it is gone or another one has its name by now.
   * @throws ClusterError
   */
  async delete({ name, uid }: Named, signal: AbortSignal): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }
    try {
      await this.#api.ask({ method: 'DELETE', path: this.#path(name), body }, signal)
    } catch (error) {
      if (error instanceof ClusterError && (error.status === 404 || error.status === 409)) return
      throw error
    }
  }

  #path(name?: string): string {
    const all = `/api/v1/namespaces/${encodeURIComponent(this.#scope.namespace)}/pods`
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`
  }
}
