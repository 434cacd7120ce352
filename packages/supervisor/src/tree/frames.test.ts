import { expect, test } from 'vitest'
import { type Frame, FrameError, frameHeader, readFrames } from './frames.ts'

const payloads = [Buffer.from('first'), Buffer.alloc(0), Buffer.alloc(70_000, 7), Buffer.alloc(0)]
const stream = Buffer.concat(payloads.flatMap((payload, type) => [frameHeader(type, payload.length), payload]))

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function all(source: AsyncIterable<Buffer>): Promise<Frame[]> {
  const frames: Frame[] = []
  for await (const frame of readFrames(source, 70_000)) frames.push(frame)
  return frames
}

test.each([1, 2, 5, 6, 7, 64, 70_000, 1_000_000])('frames arrive whole from pieces of %i bytes', async size => {
  expect(await all(cut(stream, size))).toEqual(payloads.map((payload, type) => ({ type, payload })))
})

test('a stream cut within a frame is an error', async () => {
  for (const length of [1, 4, 5, 9, 11, 20, stream.length - 1]) {
    await expect(all(cut(stream.subarray(0, length), 64))).rejects.toBeInstanceOf(FrameError)
  }
})

test('a frame above the limit is refused before it is read', async () => {
  await expect(all(cut(frameHeader(1, 70_001), 64))).rejects.toThrow('70001')
})
