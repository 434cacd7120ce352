import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { silentLog } from '@berth/testing/services/log.ts'
import { asideEntries, entries } from '@berth/testing/storage/blobs-contract.ts'
import { type S3Server, startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../kit/clock.ts'
import { BlobMissing, type CollectableBlobs } from './blobs.ts'
import { type Collected, collectBlobs } from './collect-blobs.ts'
import { FileBlobs } from './file-blobs.ts'
import { S3Blobs } from './s3-blobs.ts'

const hour = 3_600_000
const graceMs = 24 * hour
let server: S3Server
let directory: string

beforeAll(async () => {
  server = await startS3Server()
  directory = await mkdtemp(join(tmpdir(), 'berth-collect-'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const stores: [string, () => Promise<CollectableBlobs>][] = [
  ['files', async () => FileBlobs.open(await mkdtemp(join(directory, 'files-')))],
  ['S3', () => S3Blobs.open(server.location(), { spoolDirectory: directory, log: silentLog })],
]

/** Wraps the store so that something happens right before each operation of the collector. */
function interrupted(blobs: CollectableBlobs, before: Partial<Record<string, () => Promise<unknown>>>) {
  return new Proxy(blobs, {
    get(target, verb) {
      const member = Reflect.get(target, verb, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const first = before[String(verb)]
        const call = () => Reflect.apply(member, target, args)
        return first === undefined ? call() : first().then(call)
      }
    },
  })
}

function aged(blobs: CollectableBlobs, { place = 0, aside = 0 }: { place?: number; aside?: number }): CollectableBlobs {
  const earlier = (date: Date, hours: number) => new Date(date.getTime() - hours * hour)
  return new Proxy(blobs, {
    get(target, verb) {
      if (verb === 'list') {
        return async function* () {
          for await (const entry of target.list()) yield { ...entry, putAt: earlier(entry.putAt, place) }
        }
      }
      if (verb === 'listAside') {
        return async function* () {
          for await (const entry of target.listAside()) yield { ...entry, asideAt: earlier(entry.asideAt, aside) }
        }
      }
      const member = Reflect.get(target, verb, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

describe.each(stores)('in %s', (_name, make) => {
  let blobs: CollectableBlobs
  let named: Set<string>

  beforeEach(async () => {
    blobs = await make()
    named = new Set()
  })

  /** Sweeps as if every blob in its place, or aside, were that many hours older. */
  async function sweep(age: { place?: number; aside?: number }, store = blobs): Promise<Collected> {
    return collectBlobs({
      blobs: aged(store, age),
      async *named() {
        yield* named
      },
      graceMs,
      clock: systemClock,
    })
  }

  async function read(sha256: string): Promise<Buffer> {
    return buffer(await blobs.get(sha256))
  }

  test('named and young blobs stay, and others go in two steps', async () => {
    const kept = await blobs.put(randomBytes(100))
    const lost = await blobs.put(randomBytes(200))
    named.add(kept.sha256)
    expect(await sweep({ place: 23 })).toMatchObject({ kept: 2, setAside: 0 })
    expect(await sweep({ place: 25 })).toMatchObject({ kept: 1, setAside: 1, discarded: 0 })
    expect(await read(lost.sha256)).toHaveLength(200)
    expect(await sweep({ place: 99, aside: 23 })).toMatchObject({ kept: 1, setAside: 0, discarded: 0 })
    expect(await sweep({ place: 99, aside: 25 })).toMatchObject({ kept: 1, discarded: 1, discardedBytes: 200 })
    await expect(blobs.get(lost.sha256)).rejects.toBeInstanceOf(BlobMissing)
    expect(await read(kept.sha256)).toHaveLength(100)
    expect(await asideEntries(blobs)).toEqual([])
  })

  test('a blob that is named again is brought back and starts a new life', async () => {
    const { sha256 } = await blobs.put(randomBytes(100))
    await sweep({ place: 25 })
    named.add(sha256)
    expect(await sweep({ aside: 25 })).toMatchObject({ broughtBack: 1, kept: 1, discarded: 0 })
    expect(await blobs.has(sha256)).toBe(true)
    expect(await asideEntries(blobs)).toEqual([])
  })

  test('a put between the mark and the move survives', async () => {
    const content = randomBytes(100)
    const { sha256 } = await blobs.put(content)
    const racing = interrupted(blobs, { setAside: () => blobs.put(content) })
    expect(await sweep({ place: 25 }, racing)).toMatchObject({ setAside: 1 })
    expect((await read(sha256)).equals(content)).toBe(true)
    named.add(sha256)
    expect(await sweep({ aside: 25 })).toMatchObject({ broughtBack: 1, discarded: 0 })
    expect((await read(sha256)).equals(content)).toBe(true)
  })

  test('a put between the mark and the discard survives', async () => {
    const content = randomBytes(100)
    const { sha256 } = await blobs.put(content)
    await sweep({ place: 25 })
    const racing = interrupted(blobs, { discard: () => blobs.put(content) })
    expect(await sweep({ aside: 25 }, racing)).toMatchObject({ discarded: 1 })
    expect((await read(sha256)).equals(content)).toBe(true)
    expect(await blobs.has(sha256)).toBe(true)
  })

  test('a put survives while the same content is brought back', async () => {
    const content = randomBytes(100)
    const { sha256 } = await blobs.put(content)
    await sweep({ place: 25 })
    named.add(sha256)
    const racing = interrupted(blobs, { bringBack: () => blobs.put(content) })
    await sweep({ aside: 25 }, racing)
    expect((await read(sha256)).equals(content)).toBe(true)
    expect(await entries(blobs)).toHaveLength(1)
    expect(await asideEntries(blobs)).toEqual([])
  })

  test('content that `has` found survives even if it is moved right then', async () => {
    const content = randomBytes(100)
    const { sha256 } = await blobs.put(content)
    const racing = interrupted(blobs, { setAside: async () => expect(await blobs.has(sha256)).toBe(true) })
    await sweep({ place: 25 }, racing)
    expect(await sweep({ aside: 23 })).toMatchObject({ discarded: 0 })
    named.add(sha256)
    await sweep({ aside: 25 })
    expect((await read(sha256)).equals(content)).toBe(true)
  })

  test('puts, reads and sweeps at once lose nothing that is named', async () => {
    const contents = Array.from({ length: 12 }, (_, index) => Buffer.from(`content ${index}`))
    let working = true
    const collect = async () => {
      // Every blob in its place is old at once, and none at the side.
      while (working) await sweep({ place: 25 }, interrupted(blobs, { discard: async () => expect.unreachable() }))
    }
    const work = async () => {
      for (let round = 0; round < 40; round += 1) {
        const content = contents[round % contents.length] ?? Buffer.alloc(0)
        const { sha256 } = await blobs.put(content)
        expect((await read(sha256)).equals(content)).toBe(true)
        named.add(sha256)
      }
      working = false
    }
    await Promise.all([collect(), work()])
    for (const content of contents) {
      const sha256 = createHash('sha256').update(content).digest('hex')
      expect((await read(sha256)).equals(content)).toBe(true)
    }
  })

  test('nothing is moved if the marking fails, is aborted, or names something that is no digest', async () => {
    await blobs.put(randomBytes(100))
    const clock = { now: () => new Date(Date.now() + 25 * hour) }
    const failing = async function* (): AsyncGenerator<string> {
      yield 'a'.repeat(64)
      throw new Error('database away')
    }
    await expect(collectBlobs({ blobs, named: failing, graceMs, clock })).rejects.toThrow('database away')
    const strange = async function* () {
      yield 'A'.repeat(64)
    }
    await expect(collectBlobs({ blobs, named: strange, graceMs, clock })).rejects.toThrow(TypeError)
    const nothing = async function* (): AsyncGenerator<string> {}
    const signal = AbortSignal.abort(new Error('lock lost'))
    await expect(collectBlobs({ blobs, named: nothing, graceMs, clock, signal })).rejects.toThrow('lock lost')
    expect(await entries(blobs)).toHaveLength(1)
  })

  test('a store that fails during the sweep ends it, and the next sweep continues', async () => {
    for (let index = 0; index < 40; index += 1) await blobs.put(Buffer.from(`garbage ${index}`))
    let calls = 0
    const failing = interrupted(blobs, {
      async setAside() {
        calls += 1
        if (calls === 20) throw new Error('store away')
      },
    })
    await expect(sweep({ place: 25 }, failing)).rejects.toThrow('store away')
    const left = await entries(blobs)
    expect(left.length).toBeGreaterThan(0)
    expect(await sweep({ place: 25 })).toMatchObject({ setAside: left.length })
    expect(await asideEntries(blobs)).toHaveLength(40)
  })
})
