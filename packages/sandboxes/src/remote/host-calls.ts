import type { Duplex } from 'node:stream'
import type { InputFile, SandboxDriver, SandboxEgress, SandboxSpec } from '../driver.ts'
import { joinStreams } from '../egress/join-streams.ts'
import type { SandboxExtension } from '../lease-program.ts'
import { readSome } from '../line/frame.ts'
import type { CallHandler, CallHandlers } from '../line/serve-line.ts'
import { leaseIdOf, programCalls } from './program-calls.ts'
import { type HostFacts, readContent, type SentEgress, type SentSpec } from './wire.ts'
import type { WorkerServices } from './worker-services.ts'

/** What the host of a driver has of its own, or keeps of what it was sent. */
export interface HostContent {
  /** A runtime of this host's configuration; null if it has none of this id. */
  runtime(id: string): { readonly mounts: readonly string[]; readonly directory?: string } | null
  /** The runtimes of its configuration that it has and that only some machines have. */
  installed(): readonly string[]
  /** The directory of a content; null if it was not sent yet. */
  find(content: string): Promise<string | null>
  take(content: string, from: Duplex, signal: AbortSignal): Promise<void>
  /** The commits that this host's copy of a mirror holds whole. */
  commits(objects: string): Promise<readonly string[]>
  takePack(objects: string, commits: readonly string[], from: Duplex, signal: AbortSignal): Promise<void>
}

/** Parts of a host that answers calls. */
export interface HostParts {
  readonly driver: SandboxDriver
  readonly content: HostContent
  /** Opens a stream for a request of a sandbox to the worker, on whichever line there is. */
  readonly services: (leaseId: string) => WorkerServices
  /** Hears of sandboxes before they are made, so that the content that they see stays. */
  readonly using: (leaseId: string, contents: readonly string[]) => void
  /** Hears that one is gone, or was not made. */
  readonly gone: (leaseId: string) => void
  readonly boot: string
}

const MAX_INPUT_BYTES = 1024 ** 3
const OID = /^[0-9a-f]{40}$/

/** Answers the calls of a remote driver with a driver of this machine. */
export function hostCalls(parts: HostParts): CallHandlers {
  const { driver, content, boot } = parts
  /** Calls about one lease that need nothing but its id. */
  const onLease =
    (work: (leaseId: string) => Promise<unknown>): CallHandler =>
    ({ params }) =>
      work(leaseIdOf(params))

  const egressOf = (leaseId: string, { reach, publicHosts, gateway, service, isLent }: SentEgress): SandboxEgress => {
    const services = parts.services(leaseId)
    return {
      reach,
      publicHosts,
      ...(gateway && { gateway: services.gateway }),
      ...(service && { service: services.service }),
      ...{ proxy: services.proxy, isLent },
    }
  }

  const shown = async (sent: SentSpec['extensions'] = []): Promise<readonly SandboxExtension[]> =>
    await Promise.all(
      sent.map(async ({ id, content: name }) => {
        const directory = await content.find(readContent(name))
        if (directory === null) throw new Error(`this host has no content ${name}`)
        return { id, directory, content: name }
      }),
    )

  return {
    facts: async (): Promise<HostFacts> => ({ boot, describes: driver.describe(), runtimes: content.installed() }),
    async create({ params, stream, signal }) {
      const sent = params as SentSpec
      const leaseId = leaseIdOf(sent)
      const runtime = sent.runtime === null ? { mounts: [] } : content.runtime(sent.runtime)
      if (runtime === null) throw new Error(`this host cannot run the runtime ${sent.runtime}`)
      parts.using(
        leaseId,
        sent.extensions.map(({ content: name }) => readContent(name)),
      )
      const spec: SandboxSpec = {
        leaseId,
        command: sent.command,
        bounds: sent.bounds,
        mounts: runtime.mounts,
        ...('directory' in runtime && runtime.directory !== undefined && { runtime: runtime.directory }),
        ...(sent.objects !== null && { objects: sent.objects }),
        ...(sent.hasEngine && { engine: stream as AsyncIterable<Uint8Array> }),
        extensions: await shown(sent.extensions),
        ...(sent.trust && { trust: sent.trust }),
        egress: egressOf(leaseId, sent.egress),
      }
      try {
        signal.throwIfAborted()
        await driver.create(spec)
      } catch (error) {
        if (!(await driver.list()).includes(leaseId)) parts.gone(leaseId)
        throw error
      }
    },
    async attach({ params, signal, answer }) {
      const supervisor = await driver.attach(leaseIdOf(params), signal)
      joinStreams(answer(null), supervisor)
    },
    async writeInputs({ params, stream, signal }) {
      const { turn, files } = params as { turn: number; files: readonly { name: string; bytes: number }[] }
      const inputs = await readInputs(files, stream, signal)
      await driver.writeInputs(leaseIdOf(params), turn, inputs)
    },
    async serveProxy({ params }) {
      const leaseId = leaseIdOf(params)
      await driver.serveProxy(leaseId, egressOf(leaseId, (params as { egress: SentEgress }).egress))
    },
    freeze: onLease(id => driver.freeze(id)),
    thaw: onLease(id => driver.thaw(id)),
    park: async ({ params }) => driver.park(leaseIdOf(params), Number((params as { fence: unknown }).fence)),
    stateOf: onLease(id => driver.stateOf(id)),
    endOrphans: onLease(id => driver.endOrphans(id)),
    keepOrphans: onLease(id => driver.keepOrphans(id)),
    destroy: onLease(async id => {
      await driver.destroy(id)
      parts.gone(id)
    }),
    list: () => driver.list(),
    ...programCalls({
      settleBaseline: (...given) => driver.settleBaseline(...given),
      hasDirectory: (...given) => driver.hasDirectory(...given),
      async run(leaseId, program) {
        if (program.kind === 'tree') return await driver.run(leaseId, program)
        const { extensions } = program as { extensions?: SentSpec['extensions'] }
        return await driver.run(leaseId, { ...program, extensions: await shown(extensions) })
      },
    }),
    async missingContents({ params }) {
      const names = (params as { names: readonly string[] }).names.map(readContent)
      const found = await Promise.all(names.map(name => content.find(name)))
      return names.filter((_, at) => found[at] === null)
    },
    async takeContent({ params, stream, signal }) {
      await content.take(readContent((params as { name: unknown }).name), stream, signal)
    },
    heldCommits: async ({ params }) => await content.commits((params as { objects: string }).objects),
    async takePack({ params, stream, signal }) {
      const { objects, commits } = params as { objects: string; commits: readonly string[] }
      if (!commits.every(oid => OID.test(oid))) throw new TypeError('not a commit')
      await content.takePack(objects, commits, stream, signal)
    },
  }
}

async function readInputs(
  files: readonly { name: string; bytes: number }[],
  from: Duplex,
  signal: AbortSignal,
): Promise<InputFile[]> {
  const inputs: InputFile[] = []
  let total = 0
  for (const { name, bytes } of files) {
    total += bytes
    if (!Number.isSafeInteger(bytes) || bytes < 0 || total > MAX_INPUT_BYTES)
      throw new TypeError('inputs over their bound')
    const parts: Buffer[] = []
    for (let missing = bytes; missing > 0; ) {
      const part = await readSome(from, missing, signal)
      missing -= part.length
      parts.push(part)
    }
    inputs.push({ name, content: Buffer.concat(parts) })
  }
  return inputs
}
