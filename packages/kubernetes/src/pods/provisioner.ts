import { randomUUID } from 'node:crypto'
import { cordonPodHost, listPodHosts, losePodHost } from '@berth/core/hosts/pod-host-sql.ts'
import { doChore } from '@berth/core/housekeeping/chore.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { topics, type Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { ClusterError } from '../api/cluster-error.ts'
import type { ObservedPod } from '../api/observe-pod.ts'
import type { Pods } from '../api/pods.ts'
import { failed, notFailing } from './failing.ts'
import { Patience, passes } from './patience.ts'
import { isFailure, type PlanSettings, type PodAction, planPods } from './plan.ts'
import { PodCache } from './pod-cache.ts'
import type { PodTemplate } from './pod-manifest.ts'
import type { PodMetrics } from './pod-metrics.ts'
import { Wakeup } from './wakeup.ts'

export interface ProvisionerOptions {
  readonly db: Database
  readonly wakeups: Pick<Wakeups, 'subscribe'>
  readonly clock: Clock
  readonly log: Log
  readonly pods: Pods
  readonly metrics: PodMetrics
  /** Names this provisioner in the rows of its hosts, and the right to provision. */
  readonly name: string
  readonly template: PodTemplate
  readonly plan: Omit<PlanSettings, 'template'>
  /** Returns the address of the hosts' endpoint. */
  readonly address: () => Promise<string>
  /** Time between two looks at the pods while nothing changes. */
  readonly pollMs?: number
  /** First pause after a failure; tests make it shorter. */
  readonly leastPauseMs?: number
}

const POLL_MS = 5_000

/**
 * Keeps pods connected that wait for a lease, and deletes those that have had theirs. One process of a deployment does so at
 * a time, under a chore that it renews; `planPods` decides, and this class carries out.
 */
export class Provisioner extends LoopingService {
  override readonly name = 'kubernetes provisioner'
  readonly #options: ProvisionerOptions
  readonly #holder = randomUUID()
  readonly #stopping = new AbortController()
  readonly #wakeup = new Wakeup()
  readonly #patience: Patience
  #failing = notFailing
  /** Faults that are counted, and pods that have dialled, by the pod's uid. */
  #reported = new Map<string, string>()
  #came = new Set<string>()
  #unsubscribe = () => {}

  constructor(options: ProvisionerOptions) {
    super(options.pollMs ?? POLL_MS)
    this.#options = options
    this.#patience = new Patience(options.clock, options.leastPauseMs)
  }

  override async start(): Promise<void> {
    this.#unsubscribe = this.#options.wakeups.subscribe(topics.leases, this.#wakeup.ring)
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#stopping.abort(new Error('this process is stopping'))
    await super[Symbol.asyncDispose]()
  }

  /** Provisions for as long as this process may. */
  protected async round(): Promise<void> {
    const { db, clock, name } = this.#options
    const work = (signal: AbortSignal) => this.#provision(AbortSignal.any([signal, this.#stopping.signal]))
    await doChore(db, clock, this.#holder, { name: `pods/${name}`, intervalMs: 0, work })
  }

  protected failed(error: unknown): void {
    this.#options.log.warn({ err: error }, 'pods could not be provisioned')
  }

  async #provision(lost: AbortSignal): Promise<void> {
    const { pods, clock, metrics, pollMs = POLL_MS } = this.#options
    const over = new AbortController()
    const signal = AbortSignal.any([lost, over.signal])
    const cache = new PodCache({
      ...{ pods, clock, patience: this.#patience },
      changed: this.#wakeup.ring,
      failed: error => this.#apiFailed(error),
    })
    const following = cache.follow(signal)
    try {
      while (!signal.aborted) {
        await this.#wakeup.wait(pollMs, signal)
        await this.#patience.wait(signal)
        const seen = cache.all()
        if (seen === null || signal.aborted) continue
        // The right to provision is given back only if the work ends without an error.
        await this.#check(cache, seen, signal).catch(error => {
          if (!signal.aborted) this.failed(error)
        })
      }
    } finally {
      over.abort(new Error('this process provisions no more'))
      await following
      metrics.planned(null)
    }
  }

  async #check(cache: PodCache, seen: readonly ObservedPod[], signal: AbortSignal): Promise<void> {
    const { db, clock, metrics, name, template, plan: settings } = this.#options
    const now = clock.now()
    const hosts = await listPodHosts(db, name)
    const came = hosts.filter(({ isConnected, id }) => isConnected && !this.#came.has(id))
    if (came.length > 0) this.#failing = notFailing
    this.#came = new Set([...hosts.filter(({ id }) => this.#came.has(id)), ...came].map(({ id }) => id))
    this.#reportFaults(seen)
    const plan = planPods(seen, hosts, { ...settings, template: template.name }, this.#failing, now)
    metrics.planned(plan.counts)
    metrics.paused(Math.max(0, (this.#failing.until.getTime() - now.getTime()) / 1000))
    const failures = plan.actions.filter(action => action.kind === 'delete' && isFailure(action.because))
    if (failures.length > 0) this.#failing = failed(this.#failing, now, this.#options.leastPauseMs)
    for (const action of plan.actions) {
      if (signal.aborted) return
      // A plan that has just learned of failures is too old to create by.
      if (action.kind === 'create' && failures.length > 0) continue
      try {
        await this.#act(action, cache, signal)
      } catch (error) {
        if (signal.aborted || !(error instanceof ClusterError)) throw error
        this.#apiFailed(error)
        if (!passes(error)) continue
        this.#patience.failed(error)
        return
      }
    }
  }

  async #act(action: PodAction, cache: PodCache, signal: AbortSignal): Promise<void> {
    const { db, pods, log, name, metrics } = this.#options
    switch (action.kind) {
      case 'cordon':
        return await cordonPodHost(db, action.host, name)
      case 'create':
        return await this.#create(action.count, cache, signal)
      case 'delete': {
        const { pod, because } = action
        if (because === 'silent') metrics.failed(because)
        log.info({ pod: pod.name, because, detail: pod.detail }, 'a pod is deleted')
        return await pods.delete(pod, signal)
      }
      case 'verify': {
        // The cache may be older than the row; the API server knows.
        const { host } = action
        const pod = await pods.find(host.name, signal)
        if (pod?.uid === host.id) return
        log.info({ pod: host.name, host: host.id, leases: host.leases }, 'the pod of a host is gone')
        return await losePodHost(db, host.id, name)
      }
    }
  }

  async #create(count: number, cache: PodCache, signal: AbortSignal): Promise<void> {
    const { pods, template, address, clock, leastPauseMs } = this.#options
    try {
      const at = await address()
      for (let made = 0; made < count; made += 1) cache.note(await pods.create(template.manifest(at), signal))
    } catch (error) {
      // A quota or a policy refuses: pods are tried ever more rarely.
      if (!passes(error)) this.#failing = failed(this.#failing, clock.now(), leastPauseMs)
      throw error
    }
  }

  /** Counts each fault of a pod once, and tells of it. */
  #reportFaults(seen: readonly ObservedPod[]): void {
    const { log, metrics } = this.#options
    const reported = new Map<string, string>()
    for (const { uid, name, fault, detail } of seen) {
      if (fault === null) continue
      reported.set(uid, fault)
      if (this.#reported.get(uid) === fault) continue
      metrics.failed(fault)
      log.warn({ pod: name, fault, detail }, 'a pod does not do its work')
    }
    this.#reported = reported
  }

  #apiFailed(error: unknown): void {
    const { log, metrics } = this.#options
    metrics.apiFailed(String(error instanceof ClusterError ? (error.status ?? 'none') : 'none'))
    log.warn({ err: error }, 'the API server of the cluster refused or did not answer')
  }
}
