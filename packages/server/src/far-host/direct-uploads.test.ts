import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { frameTypes } from '@berth/supervisor/tree'
import { frameHeader } from '@berth/supervisor/tree/frames'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { silentLog } from '../../test/support/services/log.ts'
import { startS3Server } from '../../test/support/storage/s3-server.ts'
import { TreeLab } from '../../test/support/workspaces/trees.ts'
import { SealFailed } from '../checkpoints/errors.ts'
import { workspaceLimits } from '../checkpoints/limits.ts'
import { sealTree } from '../checkpoints/seal-tree.ts'
import { Line } from '../line/line.ts'
import { takeUpgrade } from '../line/upgrade.ts'
import type { SandboxDriver } from '../sandboxes/driver.ts'
import type { LeaseProgram, ProgramRun } from '../sandboxes/lease-program.ts'
import { createRemoteDriver, renewProxies } from '../sandboxes/remote/create-driver.ts'
import { divertPacks } from '../sandboxes/remote/divert-packs.ts'
import type { HostContent } from '../sandboxes/remote/host-calls.ts'
import { RemoteHost } from '../sandboxes/remote/remote-host.ts'
import { driverErrors } from '../sandboxes/remote/wire.ts'
import { treeOf } from '../sandboxes/tree.ts'
import type { Blobs } from '../storage/blobs/blobs.ts'
import type { UploadLender } from '../storage/blobs/lent-upload.ts'
import { S3Blobs } from '../storage/blobs/s3-blobs.ts'
import { HostMemory } from './host-memory.ts'
import { runFarHost } from './run-far-host.ts'

const clean: (() => unknown)[] = []
beforeAll(() => TreeLab.build())
afterEach(async () => {
  for (const step of clean.splice(0).reverse()) await step()
})

/** A bucket, and a store that notes the sizes of what this process puts itself. */
async function bucket() {
  const server = await startS3Server()
  clean.push(() => server[Symbol.asyncDispose]())
  const spoolDirectory = await mkdtemp(join(tmpdir(), 'berth-direct-'))
  clean.push(() => rm(spoolDirectory, { recursive: true }))
  const store = await S3Blobs.open(server.location(), { spoolDirectory, log: silentLog })
  clean.push(() => store[Symbol.dispose]())
  const sizes: number[] = []
  const blobs: Blobs = {
    async put(content) {
      const blob = await store.put(content)
      sizes.push(blob.sizeBytes)
      return blob
    },
    get: sha256 => store.get(sha256),
    stat: sha256 => store.stat(sha256),
    has: (sha256, sizeBytes) => store.has(sha256, sizeBytes),
    delete: sha256 => store.delete(sha256),
  }
  return { server, store, blobs, sizes }
}

/** A host with one sandbox, whose workspace is a tree of the lab, and a service that lends it uploads. */
async function connected(lab: TreeLab, store: UploadLender, lying?: () => ProgramRun) {
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (_: object, message: string) => void warnings.push(message) }
  const host = new RemoteHost({ awayMs: 5000, log, store })
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  clean.push(() => server.close())
  server.on('upgrade', (_, socket, head) => {
    takeUpgrade(socket, head, { 'Berth-Admission': 'a', 'Berth-Epoch': '1', 'Berth-Lease-Max-Ms': '600000' })
    host
      .take(new Line(socket, { errors: driverErrors, answer: host.answer }), renewProxies(host))
      .catch(() => undefined)
  })
  const tree = lab.tree('tree')
  const there = {
    describe: () => [],
    list: async () => [],
    run: async (_: string, program: LeaseProgram) => {
      if (lying !== undefined) return lying()
      if (program.kind !== 'tree') throw new TypeError('not a tree program')
      return await tree.run(program.access, program.baseline)
    },
    settleBaseline: async (...[, , id, end]: Parameters<SandboxDriver['settleBaseline']>) => {
      if (lying === undefined) await tree.settle(id, end)
    },
  } as unknown as SandboxDriver
  const content = { installed: () => [] } as unknown as HostContent
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-direct-host-'))
  const stopping = new AbortController()
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const self = { id: 'h', token: () => 'x', capacity: 1, pool: 'p', labels: {}, release: '', driver: 'bubblewrap' }
  const memory = new HostMemory(dataDir)
  const over = runFarHost({ url, self, memory, log, driver: there, content }, stopping.signal)
  const driver = createRemoteDriver(host, { commits: async () => [], write: async () => undefined })
  clean.push(async () => {
    stopping.abort()
    await driver[Symbol.asyncDispose]()
    await over
    await rm(dataDir, { recursive: true })
  })
  await host.line()
  return { tree: treeOf(driver, 'lease', 'workspace'), warnings }
}

/** The output of a program that says one thing. */
function frames(type: number, payload: Buffer): PassThrough {
  const output = new PassThrough()
  output.end(Buffer.concat([frameHeader(type, payload.length), payload]))
  return output
}

const large = 1024 ** 2
const files = () => ({ 'a/one': randomBytes(9 * large), 'a/two': randomBytes(3 * large), small: 'text' })

describe('the packs of a host', () => {
  it('go from it into the bucket, and the worker puts only what names them', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', files())
    const { blobs, store, sizes } = await bucket()
    const { tree } = await connected(lab, store)
    const sealed = await sealTree({ tree, blobs, limits: workspaceLimits })
    if (sealed.kind !== 'sealed') throw new Error('over a cap')
    expect(sealed.newBytes).toBeGreaterThan(12 * large)
    expect(sizes.length).toBeGreaterThan(0)
    expect(Math.max(...sizes)).toBeLessThan(64 * 1024)
    await lab.restore(sealed.manifest, 'copy', { blobs })
    expect(lab.look('copy')).toEqual(lab.look('tree'))
  })

  it.each<[string, UploadLender]>([
    ['lends nothing', { lend: async () => null }],
    ['cannot be reached from there', { lend: async () => ({ url: 'http://127.0.0.1:1/', headers: {} }) }],
    [
      'cannot be asked',
      {
        lend: async () => {
          throw new Error('away')
        },
      },
    ],
  ])('go through the worker if the store %s', async (_, store) => {
    using lab = await TreeLab.open()
    lab.make('tree', files())
    const { blobs, sizes } = await bucket()
    const { tree, warnings } = await connected(lab, store)
    const sealed = await sealTree({ tree, blobs, limits: workspaceLimits })
    if (sealed.kind !== 'sealed') throw new Error('over a cap')
    expect(Math.max(...sizes)).toBeGreaterThan(large)
    // A host that failed once tries no other pack for a while.
    expect(warnings.filter(text => text.startsWith('this host cannot put packs')).length).toBeLessThanOrEqual(3)
    await lab.restore(sealed.manifest, 'copy', { blobs })
    expect(lab.look('copy')).toEqual(lab.look('tree'))
  })

  it('count only if they were lent: a digest that is known from elsewhere gets a host no content', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', files())
    const { blobs, store } = await bucket()
    const anothers = await blobs.put(randomBytes(large))
    const payload = Buffer.alloc(44)
    payload.writeUInt32LE(1, 4)
    payload.writeUInt32LE(anothers.sizeBytes, 8)
    Buffer.from(anothers.sha256, 'hex').copy(payload, 12)
    const lying = (): ProgramRun => ({
      ...{ input: new PassThrough(), output: frames(frameTypes.stored, payload), ended: Promise.resolve('0') },
      ...{ kill: () => undefined, baseline: { id: 'b', hasPrevious: false } },
    })
    const here = { run: async () => lying(), settle: async () => undefined }
    const sealed = sealTree({ tree: here, blobs, limits: workspaceLimits })
    await expect(sealed).rejects.toThrow('a pack was stored that was not lent')
    // Not even a program whose host is lent uploads.
    const { tree } = await connected(lab, store, lying)
    await expect(sealTree({ tree, blobs, limits: workspaceLimits })).rejects.toBeInstanceOf(SealFailed)
  })
})

describe('a program at a host', () => {
  it('cannot say that it has stored a pack', async () => {
    const said = divertPacks(frames(frameTypes.stored, Buffer.alloc(44)), async () => true)
    await expect(buffer(said)).rejects.toThrow('cannot have put')
  })

  it('has its large packs named by their digests, and its small ones sent on', async () => {
    const content = randomBytes(100_000)
    const payload = Buffer.concat([Buffer.from([7, 0, 0, 0, 9, 0, 0, 0]), content])
    const named = await buffer(divertPacks(frames(frameTypes.pack, payload), async () => true))
    const digest = createHash('sha256').update(content).digest()
    const size = Buffer.from([0xa0, 0x86, 0x01, 0x00])
    const expected = Buffer.concat([frameHeader(frameTypes.stored, 44), payload.subarray(0, 8), size, digest])
    expect(named.equals(expected)).toBe(true)
    const small = payload.subarray(0, 1000)
    const sent = await buffer(divertPacks(frames(frameTypes.pack, small), async () => true))
    expect(sent.equals(Buffer.concat([frameHeader(frameTypes.pack, small.length), small]))).toBe(true)
  })
})
