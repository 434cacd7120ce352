import type { ClusterApi } from './cluster-api.ts'
import { type Named, Objects, type Scope } from './objects.ts'
import { type ObservedSandbox, observeSandbox, SANDBOX_GROUP, SANDBOX_VERSION } from './observe-sandbox.ts'

/** Group and version of Sandboxes in the paths of the API. */
export const SANDBOX_ROOT = `/apis/${SANDBOX_GROUP}/${SANDBOX_VERSION}`
export const SANDBOXES = 'sandboxes'

const kind = { root: SANDBOX_ROOT, plural: SANDBOXES, observe: observeSandbox }

/** Creates, lists, watches and deletes agent-sandbox's Sandboxes. */
export class Sandboxes extends Objects<ObservedSandbox> {
  /** @param watchMs longest silence of a watch; tests make it shorter */
  constructor(api: ClusterApi, scope: Scope, watchMs?: number) {
    super(api, kind, scope, watchMs)
  }

  /**
   * Sets the time at which the cluster ends a Sandbox.
   * @throws ClusterError, of status 409 if another one has its name by now
   */
  async postpone({ name, uid }: Named, until: Date, signal: AbortSignal): Promise<ObservedSandbox> {
    const body = { metadata: { uid }, spec: { shutdownTime: until.toISOString() } }
    return this.read(await this.api.ask({ method: 'PATCH', path: this.path(name), body }, signal))
  }

  /** A Sandbox is there for as long as its pod, so a count of Sandboxes is one of pods. */
  protected override deletion(): object {
    return { propagationPolicy: 'Foreground' }
  }
}
