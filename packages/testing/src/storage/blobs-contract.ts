import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import {
  type AsideEntry,
  BlobCorrupt,
  type BlobEntry,
  BlobMissing,
  type CollectableBlobs,
  type IdentifiedBlobs,
} from '@berth/platform/storage/blobs/blobs.ts'
import { expect, test } from 'vitest'

/** A store under test, which its own test file provides. */
export interface BlobsUnderTest {
  /** Makes an empty store. */
  make(): Promise<IdentifiedBlobs>
  /** Alters the content of a digest behind the store's back. */
  corrupt(sha256: string): Promise<void>
}

function digest(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Lists the whole store. */
export async function entries(blobs: CollectableBlobs): Promise<BlobEntry[]> {
  return Array.fromAsync(blobs.list())
}

/** Lists all blobs that are set aside. */
export async function asideEntries(blobs: CollectableBlobs): Promise<AsideEntry[]> {
  return Array.fromAsync(blobs.listAside())
}

/** Declares the tests that every implementation of Blobs must pass; call it inside a `describe`. */
export function blobsContract(subject: BlobsUnderTest): void {
  const absent = digest(Buffer.from('absent'))

  test('what was put is read back, from memory and from a stream, the empty blob too', async () => {
    const blobs = await subject.make()
    const large = randomBytes(3 * 1024 * 1024 + 7)
    for (const content of [Buffer.alloc(0), Buffer.from('x'), large]) {
      const expected = { sha256: digest(content), sizeBytes: content.length }
      expect(await blobs.put(content)).toEqual(expected)
      expect(await blobs.put(Readable.from([content.subarray(0, 5), content.subarray(5)]))).toEqual(expected)
      expect(await blobs.stat(expected.sha256)).toEqual(expected)
      expect(await blobs.has(expected.sha256)).toBe(true)
      expect((await buffer(await blobs.get(expected.sha256))).equals(content)).toBe(true)
    }
    expect(await entries(blobs)).toHaveLength(3)
  })

  test('a blob that is not there is missing', async () => {
    const blobs = await subject.make()
    await expect(blobs.get(absent)).rejects.toBeInstanceOf(BlobMissing)
    expect(await blobs.stat(absent)).toBeUndefined()
    expect(await blobs.has(absent)).toBe(false)
    await blobs.delete(absent)
    expect(await entries(blobs)).toEqual([])
  })

  test.each(['', '../../etc/passwd', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(64)}\n`])(
    '%j is no digest',
    async text => {
      const blobs = await subject.make()
      for (const verb of ['get', 'stat', 'has', 'delete', 'setAside', 'bringBack', 'discard'] as const) {
        await expect(blobs[verb](text)).rejects.toThrow(TypeError)
      }
    },
  )

  test('content that was altered ends in an error, never in an end', async () => {
    const blobs = await subject.make()
    const content = randomBytes(200_000)
    const { sha256 } = await blobs.put(content)
    await subject.corrupt(sha256)
    await expect(buffer(await blobs.get(sha256))).rejects.toBeInstanceOf(BlobCorrupt)
    await blobs.put(content)
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
  })

  test('a source that fails leaves nothing', async () => {
    const blobs = await subject.make()
    async function* failing() {
      yield Buffer.from('some')
      throw new Error('source failed')
    }
    await expect(blobs.put(failing())).rejects.toThrow('source failed')
    expect(await entries(blobs)).toEqual([])
  })

  test('the same content put fifty times at once is one blob', async () => {
    const blobs = await subject.make()
    const content = randomBytes(50_000)
    const put = await Promise.all(Array.from({ length: 50 }, () => blobs.put(content)))
    expect(new Set(put.map(blob => blob.sha256)).size).toBe(1)
    expect(await entries(blobs)).toMatchObject([{ sha256: digest(content), sizeBytes: content.length }])
  })

  test('a deleted blob is gone, while a reader under way reads on', async () => {
    const blobs = await subject.make()
    const content = randomBytes(1024 * 1024)
    const { sha256 } = await blobs.put(content)
    const reading = await blobs.get(sha256)
    await blobs.delete(sha256)
    expect(await blobs.has(sha256)).toBe(false)
    expect((await buffer(reading)).equals(content)).toBe(true)
  })

  test('a put renews the time of what is there', async () => {
    const blobs = await subject.make()
    const content = randomBytes(1000)
    await blobs.put(content)
    const [first] = await entries(blobs)
    // bound: stores tell times in whole seconds
    await setTimeout(1100)
    await blobs.put(content)
    const [second] = await entries(blobs)
    expect(second?.putAt.getTime()).toBeGreaterThan(first?.putAt.getTime() ?? Number.POSITIVE_INFINITY)
    expect(Math.abs(Date.now() - (second?.putAt.getTime() ?? 0))).toBeLessThan(10_000)
  })

  test('what is set aside is read, is not listed, and does not count as had', async () => {
    const blobs = await subject.make()
    const content = randomBytes(100_000)
    const { sha256, sizeBytes } = await blobs.put(content)
    // bound: stores tell times in whole seconds
    await setTimeout(1100)
    const before = Date.now() - 1000
    await blobs.setAside(sha256)
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
    expect(await blobs.stat(sha256)).toEqual({ sha256, sizeBytes })
    expect(await blobs.has(sha256)).toBe(false)
    expect(await entries(blobs)).toEqual([])
    const aside = await asideEntries(blobs)
    expect(aside).toMatchObject([{ sha256, sizeBytes }])
    expect(aside[0]?.asideAt.getTime()).toBeGreaterThanOrEqual(before)

    await blobs.bringBack(sha256)
    await blobs.bringBack(sha256)
    expect(await blobs.has(sha256)).toBe(true)
    expect([await blobs.has(sha256, sizeBytes), await blobs.has(sha256, sizeBytes + 1)]).toEqual([true, false])
    expect(await asideEntries(blobs)).toEqual([])
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
  })

  test('what is put again beside what was set aside is a blob of its own', async () => {
    const blobs = await subject.make()
    const content = randomBytes(1000)
    const { sha256 } = await blobs.put(content)
    await blobs.setAside(sha256)
    await blobs.put(content)
    expect(await entries(blobs)).toMatchObject([{ sha256 }])
    expect(await asideEntries(blobs)).toMatchObject([{ sha256 }])
    await blobs.bringBack(sha256)
    expect(await asideEntries(blobs)).toEqual([])
    await blobs.setAside(sha256)
    await blobs.put(content)
    await blobs.discard(sha256)
    await blobs.discard(sha256)
    expect(await asideEntries(blobs)).toEqual([])
    expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
  })

  test('what is set aside and discarded, or deleted, is gone', async () => {
    const blobs = await subject.make()
    const { sha256 } = await blobs.put(Buffer.from('x'))
    await blobs.setAside(sha256)
    await blobs.setAside(sha256)
    await blobs.discard(sha256)
    await expect(blobs.get(sha256)).rejects.toBeInstanceOf(BlobMissing)
    await blobs.put(Buffer.from('x'))
    await blobs.setAside(sha256)
    await blobs.delete(sha256)
    expect(await blobs.stat(sha256)).toBeUndefined()
    await blobs.bringBack(sha256)
    expect(await entries(blobs)).toEqual([])
  })

  test('readers find what is moved to the side and back under their hands', async () => {
    const blobs = await subject.make()
    const content = randomBytes(5000)
    const { sha256 } = await blobs.put(content)
    let moving = true
    const move = async () => {
      for (let round = 0; round < 25; round += 1) {
        await blobs.setAside(sha256)
        await blobs.bringBack(sha256)
      }
      moving = false
    }
    const read = async () => {
      do expect((await buffer(await blobs.get(sha256))).equals(content)).toBe(true)
      while (moving)
    }
    await Promise.all([move(), read(), read()])
  })

  test('a reader may leave before the end, or before the beginning', async () => {
    const blobs = await subject.make()
    const { sha256 } = await blobs.put(randomBytes(1024 * 1024))
    const unread = await blobs.get(sha256)
    unread.destroy()
    for await (const _chunk of await blobs.get(sha256)) break
    await blobs.delete(sha256)
    expect(await blobs.has(sha256)).toBe(false)
  })

  test('an identity is written once, whoever writes at the same time, and no collector sees it', async () => {
    const blobs = await subject.make()
    expect(await blobs.identity()).toBeUndefined()
    await Promise.all(['a', 'b', 'c'].map(identity => blobs.identify(identity)))
    const identity = await blobs.identity()
    expect(['a', 'b', 'c']).toContain(identity)
    await blobs.identify('d')
    expect(await blobs.identity()).toBe(identity)
    expect([await entries(blobs), await asideEntries(blobs)]).toEqual([[], []])
  })
}
