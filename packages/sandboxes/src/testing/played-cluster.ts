import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxDriver, SandboxEgress, SandboxSpec } from '../driver.ts'
import type { Cgroups } from '../linux/cgroups.ts'
import { usedBytes } from '../linux/disk-bound.ts'
import { readPodLease } from '../pod/pod-record.ts'
import { driverOfPods } from './driver-of-pods.ts'
import { PlayedPod } from './played-pod.ts'

/** A pod that is ready, with the driver that its host is. */
export interface ReadyPod {
  readonly pod: PlayedPod
  readonly driver: SandboxDriver
}

export interface PlayedClusterOptions {
  readonly root: string
  readonly image: string
  readonly groups: Cgroups
  readonly bounds: SandboxSpec['bounds']
  /** Opens the host of a pod. */
  readonly open: (pod: PlayedPod) => Promise<SandboxDriver>
  /** What a worker adds to the egress of a lease. */
  readonly egress: (leaseId: string, egress: SandboxEgress) => SandboxEgress
}

const POLL_MS = 300

/**
 * Plays the cluster and the provisioner for pods that are played: a pod for each lease, which is deleted with it, and
 * evicted if it uses more disk than it may. Seen from outside it is a driver of many leases.
 */
export class PlayedCluster {
  readonly #options: PlayedClusterOptions
  readonly #leased = new Map<string, Promise<ReadyPod>>()
  readonly #bounds = new Map<PlayedPod, number>()
  #idle: Promise<ReadyPod> | undefined
  #count = 0
  readonly #eviction: NodeJS.Timeout

  constructor(options: PlayedClusterOptions) {
    this.#options = options
    this.#eviction = setInterval(() => void this.#evict(), POLL_MS)
  }

  /** Returns the pod of a lease. */
  async of(leaseId: string): Promise<ReadyPod | undefined> {
    return await this.#leased.get(leaseId)
  }

  /** Gives a pod to a lease, before it has it. */
  async take(spec: SandboxSpec): Promise<ReadyPod> {
    const idle = this.#idle ?? this.#make()
    this.#idle = undefined
    this.#leased.set(spec.leaseId, idle)
    const ready = await idle
    this.#bounds.set(ready.pod, spec.bounds.diskBytes)
    if (spec.bounds.memoryBytes > 0) this.#options.groups.limit(`${ready.pod.name}.agent`, spec.bounds)
    return ready
  }

  /** Replaces the host of a lease's pod, as after its death. */
  put(leaseId: string, ready: ReadyPod): void {
    this.#leased.set(leaseId, Promise.resolve(ready))
  }

  /** A driver of all pods. */
  readonly driver = (): SandboxDriver =>
    driverOfPods({
      describe: () => this.#described,
      call: async (leaseId, ask) => ask(((await this.of(leaseId)) ?? (await this.#unused())).driver),
      egress: this.#options.egress,
      create: spec => this.#create(spec),
      destroy: async leaseId => {
        const ready = await this.of(leaseId)
        if (ready === undefined) return
        await ready.driver.destroy(leaseId)
        this.#leased.delete(leaseId)
        await this.#delete(ready)
      },
      list: async () =>
        (await Promise.all([...this.#leased.values()].map(async one => (await one).driver.list()))).flat(),
      [Symbol.asyncDispose]: () => this[Symbol.asyncDispose](),
    })

  async #create(spec: SandboxSpec): Promise<void> {
    const before = this.#leased.get(spec.leaseId)
    const { pod, driver } = await (before ?? this.take(spec))
    try {
      await driver.create(spec)
    } catch (error) {
      if (before === undefined && !(await driver.list()).includes(spec.leaseId)) {
        this.#leased.delete(spec.leaseId)
        if (readPodLease(pod.dataDir) === undefined) this.#idle ??= Promise.resolve({ pod, driver })
        else await this.#delete({ pod, driver })
      }
      throw error
    }
  }

  /** Makes and waits for the first pod. */
  async ready(): Promise<void> {
    this.#described = (await this.#unused()).driver.describe()
  }

  #described: readonly string[] = []

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#eviction)
    for (const one of [...this.#leased.values(), ...(this.#idle ? [this.#idle] : [])]) await this.#delete(await one)
  }

  /** A pod without a lease: it answers for leases that never were. */
  async #unused(): Promise<ReadyPod> {
    this.#idle ??= this.#make()
    return await this.#idle
  }

  async #make(): Promise<ReadyPod> {
    const { root, image, groups, bounds, open } = this.#options
    const name = join(root, `pod-${this.#count++}`)
    await mkdir(name)
    const pod = new PlayedPod(name, image, groups)
    await pod.make(bounds)
    const opening = open(pod)
    for (const part of ['agent', 'files'] as const) await pod.start(part, bounds)
    return { pod, driver: await opening }
  }

  async #delete({ pod, driver }: ReadyPod): Promise<void> {
    this.#bounds.delete(pod)
    await driver[Symbol.asyncDispose]()
    await pod.remove()
  }

  async #evict(): Promise<void> {
    for (const [pod, most] of this.#bounds) {
      const used = await Promise.all((['workspace', 'home', 'tmp'] as const).map(name => usedBytes(pod.volume(name))))
      if (used.reduce((sum, bytes) => sum + bytes, 0) <= most) continue
      this.#bounds.delete(pod)
      for (const part of ['agent', 'files'] as const) await pod.kill(part)
    }
  }
}
