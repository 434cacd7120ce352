import type { Duplex } from 'node:stream'
import type { SandboxDriver, SandboxSpec } from '../driver.ts'
import type { LeaseProgram, SandboxExtension } from '../lease-program.ts'
import type { Line } from '../line/line.ts'
import { pushDirectory } from './directory-stream.ts'
import { startFarProgram } from './far-program.ts'
import type { RemoteHost } from './remote-host.ts'
import {
  readBoolean,
  readLeaseIds,
  readState,
  readTexts,
  type SentExtension,
  type SentSpec,
  sentEgress,
} from './wire.ts'

/** Gives hosts the objects of this worker's mirrors. */
export interface MirrorPacks {
  /** The commits that a mirror holds whole. */
  commits(objects: string): Promise<readonly string[]>
  /** Writes a pack with what commits reach, and nothing that the others reach. */
  write(objects: string, wanted: readonly string[], held: readonly string[], to: Duplex): Promise<void>
}

/** How long a host may keep a call waiting before it counts as away. */
export interface CallBounds {
  /**
   * For what takes a host no time. Locks of rows and connections of the database wait with it, so a host that stays silent
   * must not hold them for as long as other calls may take.
   */
  readonly shortMs: number
  /**
   * For what takes a host some work, and for calls that carry bytes: from when it last took some. It is so short because
   * a Run waits meanwhile.
   */
  readonly quietMs: number
  /**
   * For a new sandbox: from when the host last took some of its bytes. It has to end before the Run stops waiting, or the
   * Run pays for a host that hangs with an attempt.
   */
  readonly createMs: number
  /** For a pack, which a host indexes after it has taken the last byte. The deadline of provisioning ends the wait sooner. */
  readonly packMs: number
}

const callBounds: CallBounds = { shortMs: 20_000, quietMs: 60_000, createMs: 45_000, packMs: 10 * 60_000 }
/** Commits of a mirror that a host may have. */
const MAX_COMMITS = 100_000

/**
 * A driver whose sandboxes are at a host that has dialled this process. Each call looks for the host's line and goes there
 * as a call of the same name. No path of this machine is sent: what a sandbox needs is named, and sent if the host lacks it.
 */
export function createRemoteDriver(
  host: RemoteHost,
  packs: MirrorPacks,
  some: Partial<CallBounds> = {},
): SandboxDriver {
  const { shortMs, quietMs, createMs, packMs } = { ...callBounds, ...some }
  const ask = async (method: string, params: object) =>
    await (await host.line()).ask(method, params, { answerMs: shortMs })

  /** Sends the extensions and the objects that the host has not. */
  const provide = async (
    line: Line,
    {
      extensions = [],
      objects,
    }: { extensions?: readonly SandboxExtension[] | undefined; objects?: string | undefined },
  ): Promise<readonly SentExtension[]> => {
    const sent = extensions.map(({ id, content, directory }) => {
      if (content === undefined) throw new TypeError(`extension ${id} has no name that a host elsewhere could know`)
      return { id, content, directory }
    })
    if (sent.length > 0) {
      const names = sent.map(({ content }) => content)
      const missing = new Set(
        readTexts(await line.ask('missingContents', { names }, { answerMs: shortMs }), names.length),
      )
      for (const { content, directory } of sent) {
        if (missing.delete(content)) {
          await line.ask(
            'takeContent',
            { name: content },
            { quietMs, body: stream => pushDirectory(directory, stream) },
          )
        }
      }
    }
    if (objects !== undefined) await provideObjects(line, objects)
    return sent.map(({ id, content }) => ({ id, content }))
  }

  const provideObjects = async (line: Line, objects: string): Promise<void> => {
    const wanted = await packs.commits(objects)
    const held = new Set(readTexts(await line.ask('heldCommits', { objects }, { answerMs: quietMs }), MAX_COMMITS))
    const missing = wanted.filter(oid => !held.has(oid))
    if (missing.length === 0) return
    const both = wanted.filter(oid => held.has(oid))
    await line.ask(
      'takePack',
      { objects, commits: missing },
      { quietMs: packMs, body: to => packs.write(objects, missing, both, to) },
    )
  }

  const sentSpec = (spec: SandboxSpec, extensions: readonly SentExtension[]): SentSpec => ({
    leaseId: spec.leaseId,
    command: spec.command,
    bounds: spec.bounds,
    runtime: spec.runtimeId ?? null,
    objects: spec.objects ?? null,
    extensions,
    egress: sentEgress(spec.egress),
    trust: spec.trust ?? null,
    hasEngine: spec.engine !== undefined,
  })

  return {
    kind: 'remote',
    describe: () => host.facts?.describes ?? [],
    lowerOwner: () => null,
    layers: () => ({ fault: 'its sandboxes are at a host of its own' }),
    async create(spec) {
      if (spec.runtimeId === undefined && (spec.mounts.length > 0 || spec.runtime !== undefined)) {
        throw new TypeError('a host elsewhere finds mounts by the id of a runtime')
      }
      if (spec.lower !== undefined || spec.layer !== undefined)
        throw new TypeError('a host elsewhere shows no trees of this one')
      const line = await host.line()
      const sent = sentSpec(spec, await provide(line, spec))
      const { engine } = spec
      const body = engine === undefined ? {} : { body: (to: Duplex) => writeAll(engine, to) }
      await line.ask('create', sent, { quietMs: createMs, ...body })
      host.opens(spec.leaseId, spec.egress)
    },
    async attach(leaseId, signal) {
      const { stream } = await (await host.line(signal)).open('attach', { leaseId }, { signal, answerMs: shortMs })
      return stream
    },
    async writeInputs(leaseId, turn, files) {
      const names = files.map(({ name, content }) => ({ name, bytes: content.byteLength }))
      const body = (to: Duplex) =>
        writeAll(
          files.map(({ content }) => content),
          to,
        )
      await (await host.line()).ask('writeInputs', { leaseId, turn, files: names }, { quietMs, body })
    },
    async serveProxy(leaseId, egress) {
      await ask('serveProxy', { leaseId, egress: sentEgress(egress) })
      host.opens(leaseId, egress)
    },
    async freeze(leaseId) {
      // The gateway and the service refuse by themselves at rest, and a host that dials again must not open the proxy.
      host.closes(leaseId)
      await ask('freeze', { leaseId })
    },
    thaw: async leaseId => readBoolean(await ask('thaw', { leaseId })),
    park: async (leaseId, fence) => readBoolean(await ask('park', { leaseId, fence })),
    stateOf: async leaseId => readState(await ask('stateOf', { leaseId })),
    endOrphans: async leaseId => void (await ask('endOrphans', { leaseId })),
    keepOrphans: async leaseId => void (await ask('keepOrphans', { leaseId })),
    async run(leaseId, program) {
      const line = await host.line()
      const sent = await sentProgram(line, program)
      return await startFarProgram(line, { leaseId, program: sent }, { answerMs: shortMs })
    },
    settleBaseline: async (leaseId, series, id, end) =>
      void (await ask('settleBaseline', { leaseId, series, id, end })),
    hasDirectory: async (leaseId, tree, names) => readBoolean(await ask('hasDirectory', { leaseId, tree, names })),
    async destroy(leaseId) {
      host.closes(leaseId)
      await (await host.line()).ask('destroy', { leaseId }, { answerMs: quietMs })
    },
    list: async () => readLeaseIds(await ask('list', {})),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }

  async function sentProgram(line: Line, program: LeaseProgram): Promise<object> {
    if (program.kind === 'tree') return program
    return { ...program, extensions: await provide(line, program) }
  }
}

/** Tells a new process of a host which proxies to serve: they ended with the one before. */
export const renewProxies = (host: RemoteHost) => async (line: Line) => {
  for (const [leaseId, egress] of host.opened) {
    // A sandbox that is gone is noticed by whoever works with it.
    await line.ask('serveProxy', { leaseId, egress: sentEgress(egress) }).catch(() => undefined)
  }
}

async function writeAll(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, to: Duplex): Promise<void> {
  for await (const part of parts) {
    if (to.destroyed) return
    if (!to.write(part)) await drained(to)
  }
  to.end()
}

function drained(to: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  to.once('drain', resolve)
  to.once('close', resolve)
  return promise
}
