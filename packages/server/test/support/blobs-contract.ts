import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { BlobCorrupt, type BlobEntry, BlobMissing, type Blobs } from '../../src/storage/blobs.ts'

/** What a store under the contract is given by its own test. */
export interface BlobsUnderTest {
  /** A store that holds nothing. */
  make(): Promise<Blobs>
  /** Alters the content kept under a digest behind the store's back. */
  corrupt(sha256: string): Promise<void>
}

function digest(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Everything that a store lists. */
export async function entries(blobs: Blobs): Promise<BlobEntry[]> {
  const found: BlobEntry[] = []
  for await (const entry of blobs.list()) found.push(entry)
  return found
}

/** The tests that every implementation of Blobs passes; call inside a `describe`. */
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
      await expect(blobs.get(text)).rejects.toThrow(TypeError)
      await expect(blobs.delete(text)).rejects.toThrow(TypeError)
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

  test('a reader may leave before the end, or before the beginning', async () => {
    const blobs = await subject.make()
    const { sha256 } = await blobs.put(randomBytes(1024 * 1024))
    const unread = await blobs.get(sha256)
    unread.destroy()
    for await (const _chunk of await blobs.get(sha256)) break
    await blobs.delete(sha256)
  })
}
