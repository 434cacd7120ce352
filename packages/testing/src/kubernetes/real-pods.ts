import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import { readDial } from '@berth/core/hosts/read-dial.ts'
import type { ClusterApi } from '@berth/kubernetes/api/cluster-api.ts'
import type { ObservedPod } from '@berth/kubernetes/api/observe-pod.ts'
import { Pods } from '@berth/kubernetes/api/pods.ts'
import { podIdentity } from '@berth/kubernetes/identity/pod-identity.ts'
import { podTemplate, selectorOf } from '@berth/kubernetes/pods/pod-manifest.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { type SandboxBounds, type SandboxDriver, SandboxGoneError, type SandboxSpec } from '@berth/sandboxes/driver.ts'
import { Line } from '@berth/sandboxes/line/line.ts'
import { isHostAway, LineBroken } from '@berth/sandboxes/line/line-error.ts'
import { LineRefused, refuseUpgrade, takeUpgrade } from '@berth/sandboxes/line/upgrade.ts'
import { createRemoteDriver, renewProxies } from '@berth/sandboxes/remote/create-driver.ts'
import { RemoteHost } from '@berth/sandboxes/remote/remote-host.ts'
import { driverErrors } from '@berth/sandboxes/remote/wire.ts'
import { driverOfPods } from '@berth/sandboxes/testing/driver-of-pods.ts'
import { type RealCluster, workerApi } from './real-cluster.ts'

const NAMESPACE = 'berth-sandboxes'
const START_MS = 180_000
/** The kubelet starts a container again within it. */
const AWAY_MS = 5_000
const TRIES = 12
const never = new AbortController().signal
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

interface RealPod {
  readonly pod: Pick<ObservedPod, 'name' | 'uid'>
  readonly remote: RemoteHost
  readonly driver: SandboxDriver
}

/**
 * A worker without a service: it makes pods in a real cluster, takes those that dial, and gives each lease one of them. Seen from
 * outside it is a driver of many leases.
 */
export class RealPods {
  readonly #cluster: RealCluster
  readonly #bounds: SandboxBounds
  readonly #api: ClusterApi
  readonly #pods: Pods
  readonly #identity: HostIdentity
  readonly #owner = { deployment: 'contract', instance: 'contract' }
  readonly #remotes = new Map<string, RemoteHost>()
  readonly #leased = new Map<string, Promise<RealPod>>()
  readonly #all = new Set<RealPod>()
  readonly #server: Server
  #epoch = 0
  #idle: Promise<RealPod> | undefined
  #described: readonly string[] = []

  private constructor(cluster: RealCluster, bounds: SandboxBounds) {
    this.#cluster = cluster
    this.#bounds = bounds
    this.#api = workerApi(cluster)
    this.#pods = new Pods(this.#api, { namespace: NAMESPACE, selector: selectorOf(this.#owner) })
    this.#identity = podIdentity({
      ...{ api: this.#api, pods: this.#pods, owner: this.#owner, namespace: NAMESPACE },
      ...{ serviceAccount: 'berth-sandbox', provisioner: 'contract', pool: 'default' },
    })
    this.#server = createServer().on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined)
      this.#dialled(request, socket, head).catch(error => {
        const status = error instanceof LineRefused ? error.status : 503
        refuseUpgrade(socket, status, String(error))
      })
    })
  }

  /** Opens the endpoint that pods dial, and waits for the first of them. */
  static async open(cluster: RealCluster, bounds: SandboxBounds): Promise<RealPods> {
    const pods = new RealPods(cluster, bounds)
    pods.#server.listen(0, '0.0.0.0')
    await once(pods.#server, 'listening')
    pods.#idle = pods.#make(bounds)
    pods.#described = (await pods.#idle).driver.describe()
    return pods
  }

  /** A driver of all pods. */
  readonly driver = (): SandboxDriver =>
    driverOfPods({
      describe: () => this.#described,
      egress: (_, egress) => egress,
      call: (leaseId, ask) => this.#call(leaseId, ask),
      create: spec => this.#create(spec),
      destroy: leaseId => this.#destroy(leaseId),
      list: () => this.#list(),
      [Symbol.asyncDispose]: () => this[Symbol.asyncDispose](),
    })

  /** Kills the host of a lease's pod, which the kubelet then starts again. */
  async killHost(leaseId: string): Promise<void> {
    const one = await this.#leased.get(leaseId)
    if (one === undefined) throw new Error(`${leaseId} has no pod`)
    process.kill(hostProcess(one.pod.uid), 'SIGKILL')
    const deadline = Date.now() + START_MS
    // bound: a pause between two looks
    while (one.remote.isLive && Date.now() < deadline) await sleep(20)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pod, driver } of this.#all) {
      await this.#pods.delete(pod, never)
      await driver[Symbol.asyncDispose]()
    }
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#api[Symbol.asyncDispose]()
  }

  async #create(spec: SandboxSpec): Promise<void> {
    const before = this.#leased.get(spec.leaseId)
    const taken = before ?? this.#take(spec)
    if (before === undefined) this.#leased.set(spec.leaseId, taken)
    try {
      await (await taken).driver.create(spec)
    } catch (error) {
      if (before === undefined) {
        this.#leased.delete(spec.leaseId)
        await taken.then(
          one => this.#delete(one),
          () => undefined,
        )
      }
      throw error
    }
  }

  /** Pods of the usual bounds wait for a lease; those of others are made for theirs. */
  #take({ bounds }: SandboxSpec): Promise<RealPod> {
    const isUsual = (['memoryBytes', 'cpus', 'diskBytes'] as const).every(name => bounds[name] === this.#bounds[name])
    if (!isUsual) return this.#make(bounds)
    const idle = this.#idle ?? this.#make(bounds)
    this.#idle = this.#make(this.#bounds)
    this.#idle.catch(() => undefined)
    return idle
  }

  async #destroy(leaseId: string): Promise<void> {
    const taken = this.#leased.get(leaseId)
    if (taken === undefined) return
    const one = await taken
    if (await this.#lives(one)) await this.#again(one, driver => driver.destroy(leaseId)).catch(ignoreGone)
    this.#leased.delete(leaseId)
    await this.#delete(one)
  }

  /** A pod that has ended holds nothing any more. */
  async #list(): Promise<string[]> {
    const listed = [...this.#leased].map(async ([leaseId, taken]) => {
      const one = await taken
      if (!(await this.#lives(one))) return []
      const there = await this.#again(one, driver => driver.list()).catch(ignoreGone)
      return there?.includes(leaseId) ? [leaseId] : []
    })
    return (await Promise.all(listed)).flat()
  }

  async #call<T>(leaseId: string, ask: (driver: SandboxDriver) => Promise<T>): Promise<T> {
    const taken = this.#leased.get(leaseId)
    if (taken !== undefined) return await this.#again(await taken, ask)
    this.#idle ??= this.#make(this.#bounds)
    return await ask((await this.#idle).driver)
  }

  /**
   * Asks the driver of a pod; again if its line breaks meanwhile.
   * @throws SandboxGoneError if the pod has ended
   */
  async #again<T>(one: RealPod, ask: (driver: SandboxDriver) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      if (!(await this.#lives(one))) throw new SandboxGoneError('the pod has ended')
      try {
        return await ask(one.driver)
      } catch (error) {
        if (tries === TRIES || !(isHostAway(error) || error instanceof LineBroken)) throw error
      }
    }
  }

  async #lives({ pod }: RealPod): Promise<boolean> {
    const found = await this.#pods.find(pod.name, never)
    return found !== null && (found.state === 'running' || found.state === 'starting')
  }

  async #delete(one: RealPod): Promise<void> {
    this.#all.delete(one)
    await this.#pods.delete(one.pod, never)
    await one.driver[Symbol.asyncDispose]()
  }

  async #make(bounds: SandboxBounds): Promise<RealPod> {
    const { port } = this.#server.address() as AddressInfo
    const { image, hostImage } = this.#cluster
    const template = podTemplate(this.#owner, {
      ...{ namespace: NAMESPACE, image, hostImage, bounds, pool: 'default', release: undefined },
      ...{ serviceAccount: 'berth-sandbox', runtimeClass: undefined, nodeSelector: {} },
      hostsUrl: `http://berth-hosts.berth.svc:${port}`,
    })
    const pod = await this.#pods.create(askingForLittle(template.manifest('10.88.0.1')), never)
    const remote = new RemoteHost({ awayMs: AWAY_MS, log, lends: openNetwork() })
    this.#remotes.set(pod.uid, remote)
    const driver = createRemoteDriver(remote, { commits: async () => [], write: async () => undefined })
    const one = { pod, remote, driver }
    this.#all.add(one)
    // bound: a pause between two looks
    for (const deadline = Date.now() + START_MS; !remote.isLive; await sleep(20)) {
      if (Date.now() < deadline) continue
      const found = await this.#pods.find(pod.name, never)
      throw new Error(`the pod ${pod.name} has not dialled: ${found?.state} ${found?.fault} ${found?.detail}`)
    }
    return one
  }

  async #dialled(request: Parameters<typeof readDial>[0], socket: Duplex, head: Buffer): Promise<void> {
    const { uid } = await this.#identity.judge(readDial(request).token, AbortSignal.timeout(10_000))
    const remote = this.#remotes.get(uid)
    if (remote === undefined) throw new LineRefused(401, 'nobody waits for this pod')
    this.#epoch += 1
    takeUpgrade(socket, head, { 'Berth-Epoch': String(this.#epoch), 'Berth-Lease-Max-Ms': '3600000' })
    const line = new Line(socket, { errors: driverErrors, answer: remote.answer })
    await remote.take(line, renewProxies(remote)).catch(() => line.destroy(new LineBroken('the host does not speak')))
  }
}

const ignoreGone = (error: unknown): undefined => {
  if (!(error instanceof SandboxGoneError)) throw error
}

/** Lets many pods fit on the one node: only what they may use is tested, not what they ask for. */
function askingForLittle(manifest: object): object {
  const { spec } = manifest as { spec: { containers: readonly { resources: object }[] } }
  const requests = { cpu: '1m', memory: '16Mi', 'ephemeral-storage': '1Mi' }
  const containers = spec.containers.map(one => ({ ...one, resources: { ...one.resources, requests } }))
  return { ...manifest, spec: { ...spec, containers } }
}

/** Returns the process of a pod's host, which the namespace of this process shows. */
function hostProcess(uid: string): number {
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const isOfPod = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`pod${uid}`)
      if (isOfPod && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('berth.js\0host')) return Number(pid)
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error(`no host runs in the pod ${uid}`)
}
