import type { Clock } from '../../kit/clock.ts'
import type { Log } from '../../kit/log.ts'
import { StartError } from '../../kit/start-error.ts'
import type { ClusterApi } from '../api/cluster-api.ts'
import { ClusterError } from '../api/cluster-error.ts'
import { findSandboxResource, type SandboxResource } from '../api/find-sandbox-resource.ts'
import { SANDBOX_GROUP, SANDBOX_VERSION } from '../api/observe-sandbox.ts'

/** `auto`: Sandboxes where the cluster serves them and this service may make them, else pods. */
export type SandboxWish = 'auto' | 'on' | 'off'

export interface SandboxChoiceOptions {
  readonly wish: SandboxWish
  readonly api: ClusterApi
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  /** Time between two questions; tests make it shorter. */
  readonly askMs?: number
}

const ASK_MS = 5 * 60_000

/** Decides whether to make Sandboxes or pods. Operators install and remove agent-sandbox at any time, so it asks now and then. */
export class SandboxChoice {
  readonly #options: SandboxChoiceOptions
  #resource: SandboxResource | null = null
  #askAt = 0

  constructor(options: SandboxChoiceOptions) {
    this.#options = options
  }

  /** Returns whether to make Sandboxes; null while nobody knows. */
  get current(): boolean | null {
    const { wish } = this.#options
    if (wish !== 'auto') return wish === 'on'
    return this.#resource === null ? null : this.#resource.kind === 'usable'
  }

  /** Has the API server asked again at the next `refresh`: it has refused a request that concerns Sandboxes. */
  doubt(): void {
    this.#askAt = 0
  }

  /**
   * Asks the API server, if the last answer is old.
   * @throws ClusterError if it does not say; the answer before still counts
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const { wish, clock, api, namespace, askMs = ASK_MS } = this.#options
    const now = clock.now().getTime()
    if (wish !== 'auto' || now < this.#askAt) return
    this.#note(await findSandboxResource(api, namespace, signal))
    this.#askAt = now + askMs
  }

  /**
   * Checks a wish that was forced. An API server that is away now does not hold up the start.
   * @throws StartError if the cluster cannot fulfil it
   */
  async check(): Promise<void> {
    const { wish, api, namespace, log } = this.#options
    if (wish !== 'on') return
    try {
      const resource = await findSandboxResource(api, namespace)
      if (resource.kind !== 'usable') throw new StartError(`BERTH_KUBERNETES_SANDBOXES is on: ${remedyOf(resource)}`)
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error
      log.warn({ err: error }, 'the API server does not say whether it serves Sandboxes')
    }
  }

  #note(resource: SandboxResource): void {
    const { log, namespace } = this.#options
    const isNews = JSON.stringify(resource) !== JSON.stringify(this.#resource)
    this.#resource = resource
    if (!isNews) return
    if (resource.kind === 'usable') log.info({ namespace }, 'pods are made through Sandboxes of agent-sandbox')
    else if (resource.kind === 'forbidden' || resource.versions.length > 0) {
      log.warn({ namespace, because: remedyOf(resource) }, 'pods are made without Sandboxes')
    } else log.info({ namespace }, 'pods are made without Sandboxes: the cluster has none')
  }
}

function remedyOf(resource: Exclude<SandboxResource, { kind: 'usable' }>): string {
  const kind = `sandboxes.${SANDBOX_GROUP}/${SANDBOX_VERSION}`
  if (resource.kind === 'forbidden') {
    return `this service account may not ${resource.verbs.join(', ')} ${kind}; give it the right to, or set BERTH_KUBERNETES_SANDBOXES=off`
  }
  const { versions } = resource
  const found = versions.length === 0 ? '' : ` (it has ${versions.join(', ')})`
  return `the cluster does not serve ${kind}${found}; install a release of agent-sandbox that has it, or set BERTH_KUBERNETES_SANDBOXES=off`
}
