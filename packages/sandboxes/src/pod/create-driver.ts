import { join } from 'node:path'
import { objectsDirectory } from '../confined/objects-directory.ts'
import { type SandboxDriver, SandboxGoneError, type SandboxSpec } from '../driver.ts'
import { createEgressPolicy } from '../egress/egress-policy.ts'
import type { DriverLog } from '../leases/driver-log.ts'
import { writeTurnInputs } from '../leases/inputs.ts'
import { assertSpec } from '../leases/spec.ts'
import { systemBundle, writeTrust } from '../leases/trust-files.ts'
import type { Line } from '../line/line.ts'
import { HostAwayError } from '../line/line-error.ts'
import { createKeyedLock } from '../linux/keyed-lock.ts'
import { startFarProgram } from '../remote/far-program.ts'
import { readBoolean, readState } from '../remote/wire.ts'
import { describePod } from './describe.ts'
import { PartLine } from './part-line.ts'
import type { ReadyOrder, StartOrder } from './part-names.ts'
import { PassingProxy } from './passing-proxy.ts'
import { podObjects, podPlaces } from './pod-places.ts'
import { type PodLease, readPodLease, writePodLease } from './pod-record.ts'
import { preparePlaces, showContent, showEngine } from './shown-content.ts'

/** Why no pod has layers or lower trees: both stand for parts of a host's own system. */
const NO_LAYERS = "the system of a pod is its image's"

export interface PodOptions {
  /** Its volumes are mounted below it, as `podPlaces` says. */
  readonly dataDir: string
  readonly log: DriverLog
  /** Starts in the sandbox before the pod has its lease; absent: nothing does. */
  readonly ready?: ReadyOrder
}

/** Longer than a supervisor and its agent may take to be ready. */
const READY_MS = 90_000

/**
 * Opens the driver of a pod, in the pod's container `host`. Two other containers dial it: `agent` is the sandbox, and
 * `files` works at the sandbox's files. A pod has one lease in its life, which ends with either the lease or the process
 * that started the sandbox's first command.
 *
 * It resolves once both are there and the order that needs no lease has begun, so that a pod is offered to Sessions when it
 * is ready for one; if the pod has its lease already, at once.
 */
export async function createPodDriver({ dataDir, log, ready }: PodOptions): Promise<SandboxDriver> {
  const places = podPlaces(dataDir)
  await preparePlaces(places)
  let lease = readPodLease(dataDir)
  const locked = createKeyedLock()
  await using opening = new AsyncDisposableStack()
  const isSame = (key: string) => lease === undefined || lease.key === key
  const agent = opening.use(await PartLine.listen(places.line, 'agent', isSame))
  const files = opening.use(await PartLine.listen(places.filesLine, 'files', () => true))
  const proxy = opening.use(await PassingProxy.listen(places.line))
  if (lease === undefined) {
    await Promise.all([agent.arrived(), files.arrived()])
    if (ready !== undefined) {
      await (await agent.line()).ask('prepare', ready, { answerMs: READY_MS }).catch((error: unknown) => {
        log.warn({ err: error }, 'no agent could be made ready ahead of its lease')
      })
    }
  }

  const note = (now: PodLease) => {
    writePodLease(dataDir, now)
    lease = now
  }
  const isCurrent = (leaseId: string) => lease?.leaseId === leaseId && !lease.isOver
  const assertCurrent = (leaseId: string) => {
    if (!isCurrent(leaseId)) throw new SandboxGoneError(`sandbox ${leaseId} does not exist`)
  }
  /** Calls the part. It dials again as long as it lives, so one that stays away is dead, and its sandbox with it. */
  const atSandbox = async <T>(use: (line: Line) => Promise<T>): Promise<T> => {
    for (let isAgain = false; ; isAgain = true) {
      const line = await agent.line().catch((error: unknown) => {
        throw new SandboxGoneError('the container of the sandbox has ended', { cause: error })
      })
      try {
        return await use(line)
      } catch (error) {
        if (isAgain || !(error instanceof HostAwayError)) throw error
      }
    }
  }
  const askIfCurrent = async (leaseId: string, method: string, gone: unknown): Promise<unknown> => {
    if (!isCurrent(leaseId)) return gone
    try {
      return await atSandbox(line => line.ask(method, null))
    } catch (error) {
      if (error instanceof SandboxGoneError) return gone
      throw error
    }
  }
  const start = async (spec: SandboxSpec, line: Line) => {
    await showEngine(places, spec.engine)
    await showContent(places, spec)
    if (spec.trust !== undefined) writeTrust(places.line, systemBundle(), spec.trust)
    proxy.open(spec.egress)
    const isPlain = spec.engine === undefined && (spec.extensions ?? []).length === 0
    const order: StartOrder = { command: spec.command, fileSizeBytes: spec.bounds.fileSizeBytes, isPlain }
    await line.ask('start', order)
  }
  const end = async () => {
    proxy.close()
    // A container that has ended holds no process, and one that started again has none of the lease.
    await agent.now?.line.ask('end', null)
  }

  const stack = opening.move()
  return {
    kind: 'pod',
    describe: describePod,
    lowerOwner: () => null,
    layers: () => ({ fault: NO_LAYERS }),
    create: spec =>
      locked('lease', async () => {
        await assertSpec(spec, dataDir)
        createEgressPolicy(spec.egress)
        if (spec.lower !== undefined || spec.layer !== undefined) throw new TypeError(NO_LAYERS)
        if (spec.mounts.length > 0 || spec.runtime !== undefined) {
          throw new TypeError('a pod shows no directories of its host: what a runtime needs belongs into the image')
        }
        if (spec.objects !== undefined) objectsDirectory(podObjects(dataDir), spec.objects)
        if (lease !== undefined) throw new Error(`this pod has had its lease, ${lease.leaseId}`)
        const current = agent.now
        if (current === undefined) throw new SandboxGoneError('the container of the sandbox is not there')
        const made = { leaseId: spec.leaseId, key: current.key, isOver: false }
        note(made)
        try {
          await start(spec, current.line)
        } catch (error) {
          note({ ...made, isOver: true })
          await end().catch((second: unknown) => {
            log.error({ err: second, leaseId: spec.leaseId }, 'could not end a sandbox that failed to start')
          })
          if (agent.now?.key === current.key) throw error
          throw new SandboxGoneError('the container of the sandbox has ended', { cause: error })
        }
      }),
    async attach(leaseId, signal) {
      assertCurrent(leaseId)
      const { stream } = await atSandbox(line => line.open('attach', null, { signal }))
      return stream
    },
    async writeInputs(leaseId, turn, inputs) {
      assertCurrent(leaseId)
      const { platform } = places
      await writeTurnInputs({ leaseId, inputs: join(platform, 'inputs'), host: platform }, turn, inputs)
    },
    async serveProxy(leaseId, egress) {
      createEgressPolicy(egress)
      assertCurrent(leaseId)
      proxy.open(egress)
    },
    async freeze(leaseId) {
      if (isCurrent(leaseId)) proxy.close()
      await askIfCurrent(leaseId, 'freeze', null)
    },
    thaw: async leaseId => readBoolean(await askIfCurrent(leaseId, 'thaw', false)),
    // A pod has one sandbox in its life.
    park: async () => false,
    stateOf: async leaseId => readState(await askIfCurrent(leaseId, 'stateOf', 'gone')),
    endOrphans: async leaseId => void (await askIfCurrent(leaseId, 'endOrphans', null)),
    async keepOrphans(leaseId) {
      assertCurrent(leaseId)
      await atSandbox(line => line.ask('keepOrphans', null))
    },
    async run(leaseId, program) {
      assertCurrent(leaseId)
      const line = await files.line()
      if (program.kind === 'tree') return await startFarProgram(line, { leaseId, program })
      await showContent(places, program)
      return await startFarProgram(line, { leaseId, program: { ...program, extensions: [] } })
    },
    async settleBaseline(leaseId, series, id, baselineEnd) {
      assertCurrent(leaseId)
      await (await files.line()).ask('settleBaseline', { leaseId, series, id, end: baselineEnd })
    },
    async hasDirectory(leaseId, tree, names) {
      assertCurrent(leaseId)
      return readBoolean(await (await files.line()).ask('hasDirectory', { leaseId, tree, names }))
    },
    destroy: leaseId =>
      locked('lease', async () => {
        if (lease?.leaseId !== leaseId || lease.isOver) return
        await end()
        note({ ...lease, isOver: true })
      }),
    list: async () => (lease === undefined || lease.isOver ? [] : [lease.leaseId]),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
