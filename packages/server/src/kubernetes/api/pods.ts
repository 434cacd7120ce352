import type { ClusterApi } from './cluster-api.ts'
import { Objects, type Scope } from './objects.ts'
import { type ObservedPod, observePod } from './observe-pod.ts'

const kind = { root: '/api/v1', plural: 'pods', observe: observePod }

/** Creates, lists, watches and deletes pods. */
export class Pods extends Objects<ObservedPod> {
  /** @param watchMs longest silence of a watch; tests make it shorter */
  constructor(api: ClusterApi, scope: Scope, watchMs?: number) {
    super(api, kind, scope, watchMs)
  }
}
