import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { silentLog } from '@berth/testing/services/log.ts'
import { asideEntries, blobsContract, entries } from '@berth/testing/storage/blobs-contract.ts'
import { type S3Fault, type S3Request, type S3Server, startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StartError } from '../../kit/start-error.ts'
import { BlobCorrupt, BlobMissing, BlobsUnavailable, StorageFull } from './blobs.ts'
import { S3Blobs, type S3BlobsOptions } from './s3-blobs.ts'
import { createS3Client, type S3Location } from './s3-client.ts'

const mebibyte = 1024 ** 2
let server: S3Server
let spoolDirectory: string
let opened: S3Blobs[]
let location: S3Location
const strangers: string[] = []
let dialled = 0

/** Collects the addresses that this process connects to; all must be on loopback. */
function watch(message: unknown): void {
  const { socket } = message as { socket: Socket }
  dialled += 1
  socket.once('lookup', (_error, address) => {
    if (address !== '127.0.0.1') strangers.push(String(address))
  })
  socket.once('connect', () => {
    if (socket.remoteAddress !== '127.0.0.1') strangers.push(String(socket.remoteAddress))
  })
}

beforeAll(async () => {
  subscribe('net.client.socket', watch)
  spoolDirectory = await mkdtemp(join(tmpdir(), 'berth-spool-'))
  server = await startS3Server()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  expect(await readdir(spoolDirectory)).toEqual([])
  await rm(spoolDirectory, { recursive: true })
  unsubscribe('net.client.socket', watch)
  expect(dialled).toBeGreaterThan(0)
  expect(strangers).toEqual([])
})
beforeEach(() => {
  opened = []
  location = server.location()
})
afterEach(() => {
  server.fault = () => undefined
  for (const blobs of opened) blobs[Symbol.dispose]()
})

async function open(options: Partial<S3BlobsOptions> = {}, at: S3Location = location): Promise<S3Blobs> {
  const blobs = await S3Blobs.open(at, { spoolDirectory, log: silentLog, ...options })
  opened.push(blobs)
  return blobs
}

/** Fails the first `times` requests of a kind, and counts all of them. */
function failFirst(times: number, fault: S3Fault, concerns: (request: S3Request) => boolean): { seen: number } {
  const counter = { seen: 0 }
  server.fault = request => {
    if (!concerns(request)) return undefined
    counter.seen += 1
    return counter.seen <= times ? fault : undefined
  }
  return counter
}

const isPut = ({ method }: S3Request) => method === 'PUT'
const isGet = ({ method, query }: S3Request) => method === 'GET' && !query.has('list-type')
const isPart = ({ method, query }: S3Request) => method === 'PUT' && query.has('partNumber')
const isAbort = ({ method, query }: S3Request) => method === 'DELETE' && query.has('uploadId')
const isCompletion = ({ method, query }: S3Request) => method === 'POST' && query.has('uploadId')

describe('the contract', () => {
  blobsContract({
    make: () => open(),
    async corrupt(sha256) {
      const client = createS3Client(location)
      const Key = `${location.prefix}${sha256.slice(0, 2)}/${sha256.slice(2)}`
      await client.send(new PutObjectCommand({ Bucket: location.bucket, Key, Body: 'altered' }))
      client.destroy()
    },
  })
})

describe('content larger than a part', () => {
  const content = randomBytes(20 * mebibyte + 3)

  /** Yields the content in pieces, all in the same buffer. */
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const piece = Buffer.alloc(mebibyte)
    for (let at = 0; at < content.length; at += mebibyte) yield piece.subarray(0, content.copy(piece, 0, at))
  }

  test('goes up in parts and comes back whole, even if parts fail', async () => {
    const blobs = await open()
    const parts = failFirst(2, { kind: 'cut' }, isPart)
    const { sha256, sizeBytes } = await blobs.put(pieces())
    expect(sizeBytes).toBe(content.length)
    expect(parts.seen).toBe(5)
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
    await blobs.setAside(sha256)
    expect(await blobs.stat(sha256)).toEqual({ sha256, sizeBytes })
  })

  test('is uploaded again if the answer to its completion is lost', async () => {
    const blobs = await open()
    const completions = failFirst(1, { kind: 'lose-answer' }, isCompletion)
    const { sha256 } = await blobs.put(pieces())
    expect(completions.seen).toBe(3)
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
  })

  test('leaves neither object nor parts if the store keeps failing', async () => {
    const blobs = await open()
    let aborted = 0
    server.fault = request => {
      if (isAbort(request)) aborted += 1
      const third = isPart(request) && request.query.get('partNumber') === '3'
      return third ? { kind: 'answer', status: 500, code: 'InternalError' } : undefined
    }
    await expect(blobs.put(pieces())).rejects.toBeInstanceOf(BlobsUnavailable)
    expect(aborted).toBe(1)
    expect(await entries(blobs)).toEqual([])
  })

  test('leaves nothing when its source fails', async () => {
    const blobs = await open()
    async function* failing() {
      yield* pieces()
      throw new Error('source failed')
    }
    const before = server.requests.length
    await expect(blobs.put(failing())).rejects.toThrow('source failed')
    expect(server.requests).toHaveLength(before)
  })

  test('occupies at most two parts of memory', async () => {
    const blobs = await open()
    const size = 96 * mebibyte
    let most = 0
    async function* large() {
      const piece = randomBytes(mebibyte)
      for (let at = 0; at < size; at += piece.length) {
        piece.writeUInt32BE(at)
        yield piece
      }
    }
    // The server of this test holds all of the content, so measure only the growth while the source is read.
    const before = process.memoryUsage().arrayBuffers
    async function* measured() {
      for await (const piece of large()) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
        yield piece
      }
      throw new Error('read to the end')
    }
    await expect(blobs.put(measured())).rejects.toThrow('read to the end')
    expect(most).toBeLessThan(48 * mebibyte)
  })
})

describe('a failing store', () => {
  test.each<[string, S3Fault]>([
    ['asks to slow down', { kind: 'answer', status: 503, code: 'SlowDown' }],
    ['fails', { kind: 'answer', status: 500, code: 'InternalError' }],
    ['breaks off', { kind: 'cut' }],
    ['does it and does not say so', { kind: 'lose-answer' }],
  ])('is asked again if it %s', async (_name, fault) => {
    const blobs = await open()
    const content = randomBytes(100_000)
    const puts = failFirst(2, fault, isPut)
    const { sha256 } = await blobs.put(Readable.from([content]))
    expect(puts.seen).toBe(3)
    const gets = failFirst(1, fault, isGet)
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
    expect(gets.seen).toBe(2)
    expect(await entries(blobs)).toHaveLength(1)
  })

  test('ends in BlobsUnavailable, and serves again when it is back', async () => {
    const blobs = await open()
    const { sha256 } = await blobs.put(Buffer.from('x'))
    await server.stop()
    try {
      await expect(blobs.put(Buffer.from('y'))).rejects.toBeInstanceOf(BlobsUnavailable)
      await expect(blobs.get(sha256)).rejects.toBeInstanceOf(BlobsUnavailable)
      await expect(blobs.has(sha256)).rejects.toBeInstanceOf(BlobsUnavailable)
      await expect(blobs.delete(sha256)).rejects.toBeInstanceOf(BlobsUnavailable)
      await expect(entries(blobs)).rejects.toBeInstanceOf(BlobsUnavailable)
      await expect(blobs.identity()).rejects.toBeInstanceOf(BlobsUnavailable)
    } finally {
      await server.resume()
    }
    expect(await blobs.identity()).toBeUndefined()
    expect((await buffer(await blobs.get(sha256))).toString()).toBe('x')
  })

  test.each<[string, number, string, new (...args: never[]) => Error]>([
    ['refuses us', 403, 'AccessDenied', BlobsUnavailable],
    ['lost the bucket', 404, 'NoSuchBucket', BlobsUnavailable],
    ['has no room', 507, 'XMinioStorageFull', StorageFull],
    ['has no such object', 404, 'NoSuchKey', BlobMissing],
  ])('that %s gets the error that says so', async (_name, status, code, type) => {
    const blobs = await open()
    server.fault = () => ({ kind: 'answer', status, code })
    await expect(blobs.get('a'.repeat(64))).rejects.toBeInstanceOf(type)
  })
})

describe('a body', () => {
  const content = randomBytes(300_000)
  let blobs: S3Blobs
  let sha256: string

  beforeEach(async () => {
    blobs = await open({ idleMs: 2_000 })
    sha256 = (await blobs.put(content)).sha256
  })

  test('ends in an error if it breaks off', async () => {
    failFirst(1, { kind: 'truncate', bytes: 1000 }, isGet)
    await expect(buffer(await blobs.get(sha256))).rejects.toBeInstanceOf(BlobsUnavailable)
  })

  test('is corrupt if it ends early without an error', async () => {
    failFirst(1, { kind: 'shorten', bytes: 299_999 }, isGet)
    await expect(buffer(await blobs.get(sha256))).rejects.toBeInstanceOf(BlobCorrupt)
    failFirst(1, { kind: 'shorten', bytes: 0 }, isGet)
    await expect(buffer(await blobs.get(sha256))).rejects.toBeInstanceOf(BlobCorrupt)
  })

  test('is given up if it falls silent, but not if its reader is slow', async () => {
    failFirst(1, { kind: 'stall', bytes: 1000 }, isGet)
    await expect(buffer(await blobs.get(sha256))).rejects.toBeInstanceOf(BlobsUnavailable)
    let read = 0
    for await (const chunk of await blobs.get(sha256)) {
      read += chunk.length
      // bound: longer than the silence of a body may last
      if (read === chunk.length) await setTimeout(2_500)
    }
    expect(read).toBe(content.length)
  })

  test('harms nobody if it breaks off while nobody reads', async () => {
    failFirst(1, { kind: 'truncate', bytes: 1000 }, isGet)
    const reading = await blobs.get(sha256)
    // bound: the body breaks off in this time, or later
    await setTimeout(100)
    await expect(buffer(reading)).rejects.toBeInstanceOf(BlobsUnavailable)
  })
})

describe('a move to the side', () => {
  test('renews the time if it took long', async () => {
    // bound: it is to be over
    const blobs = await open({ slowMoveMs: 500 })
    const { sha256 } = await blobs.put(Buffer.from('x'))
    // bound: the server tells times in whole seconds
    const until = setTimeout(1500)
    failFirst(1, { kind: 'hold', until }, ({ method }) => method === 'DELETE')
    const before = Date.now()
    await blobs.setAside(sha256)
    const [aside] = await asideEntries(blobs)
    expect(aside?.asideAt.getTime()).toBeGreaterThanOrEqual(before + 1000)
  })

  test('keeps content that is put between its two steps', async () => {
    const blobs = await open()
    const content = randomBytes(1000)
    const { sha256 } = await blobs.put(content)
    const { promise: until, resolve: goOn } = Promise.withResolvers<void>()
    failFirst(1, { kind: 'hold', until }, ({ method }) => method === 'DELETE')
    const moving = blobs.setAside(sha256)
    await blobs.put(content)
    goOn()
    await moving
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
  })
})

test('lists more than one page', { timeout: 60_000 }, async () => {
  const blobs = await open()
  const put = new Set<string>()
  for (let round = 0; round < 21; round += 1) {
    const some = await Promise.all(
      Array.from({ length: 50 }, (_, index) => blobs.put(Buffer.from(`${round} ${index}`))),
    )
    for (const { sha256 } of some) put.add(sha256)
  }
  const found = await entries(blobs)
  expect(found).toHaveLength(1050)
  expect(new Set(found.map(({ sha256 }) => sha256))).toEqual(put)
})

test('keeps to its prefix', async () => {
  const [outer, inner] = [server.location('shared/'), server.location('shared/inner/')]
  const [first, second] = [await open({}, outer), await open({}, inner)]
  await first.put(Buffer.from('outer'))
  await second.put(Buffer.from('inner'))
  expect(await entries(first)).toHaveLength(1)
  expect(await entries(second)).toHaveLength(1)
})

describe('opening', () => {
  test.each<[string, Partial<S3Location>, RegExp]>([
    ['a missing bucket', { bucket: 'no-such-bucket' }, /bucket no-such-bucket at .* it does not exist$/],
    [
      'an unknown access key',
      { keys: { accessKeyId: 'AKIDOTHER', secretAccessKey: 'c2VjcmV0' } },
      /the store does not know AWS_ACCESS_KEY_ID$/,
    ],
    [
      'an endpoint without a listener',
      { endpoint: 'http://127.0.0.1:1' },
      /at http:\/\/127\.0\.0\.1:1 cannot be used: ECONNREFUSED$/,
    ],
  ])('%s stops the start in one line', async (_name, change, message) => {
    const failed = await open({}, { ...location, ...change }).catch(error => error)
    expect(failed).toBeInstanceOf(StartError)
    expect(failed.message).toMatch(message)
    expect(failed.message).not.toContain('c2VjcmV0')
  })

  test('aborts the uploads that died long ago, and no others', async () => {
    const upload = (id: string, hours: number) =>
      `<Upload><Key>${location.prefix}ab/${id}</Key><UploadId>${id}</UploadId><Initiated>${new Date(Date.now() - hours * 3_600_000).toISOString()}</Initiated></Upload>`
    const body = `<?xml version="1.0"?><ListMultipartUploadsResult>${upload('old', 25)}${upload('young', 1)}</ListMultipartUploadsResult>`
    const aborted: (string | null)[] = []
    server.fault = request => {
      if (isAbort(request)) aborted.push(request.query.get('uploadId'))
      return request.query.has('uploads') ? { kind: 'answer', status: 200, code: '', body } : undefined
    }
    await open()
    expect(aborted).toEqual(['old'])
  })

  test('succeeds on a store that cannot list uploads', async () => {
    server.fault = ({ query }) =>
      query.has('uploads') ? { kind: 'answer', status: 501, code: 'NotImplemented' } : undefined
    const errors: unknown[] = []
    const blobs = await open({ log: { ...silentLog, warn: (...args: unknown[]) => errors.push(args) } })
    await blobs.put(Buffer.from('x'))
    expect(errors).toHaveLength(1)
  })
})
