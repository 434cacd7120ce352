import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BlobTooLarge, spool } from './spool.ts'

const directory = await mkdtemp(join(tmpdir(), 'berth-spool-'))
afterAll(() => rm(directory, { recursive: true }))

test.each([0, 1, 999, 1000, 1001, 5000])('%i bytes can be read any number of times and leave no file', async size => {
  const content = randomBytes(size)
  async function* source() {
    const piece = Buffer.alloc(300)
    for (let at = 0; at < size; at += 300) yield piece.subarray(0, content.copy(piece, 0, at))
  }
  for (const given of [content, source()]) {
    await using spooled = await spool(given, { memoryBytes: 1000, maxBytes: 5000, directory })
    expect(spooled.sizeBytes).toBe(size)
    expect(Buffer.from(await spooled.read(0, size + 1)).equals(content)).toBe(true)
    expect(Buffer.from(await spooled.read(900, 200)).equals(content.subarray(900, 1100))).toBe(true)
    expect(await spooled.read(size + 5, 1)).toHaveLength(0)
    expect(await readdir(directory)).toEqual([])
  }
})

test('refuses content that is too large before it is read to the end', async () => {
  let yielded = 0
  async function* endless() {
    for (;;) {
      yielded += 1
      yield Buffer.alloc(1000)
    }
  }
  const options = { memoryBytes: 1000, maxBytes: 5000, directory }
  await expect(spool(endless(), options)).rejects.toBeInstanceOf(BlobTooLarge)
  expect(yielded).toBe(6)
  await expect(spool(Buffer.alloc(5001), options)).rejects.toBeInstanceOf(BlobTooLarge)
})
