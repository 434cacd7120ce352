import { readSync, writeSync } from 'node:fs'

/**
 * A frame between the worker and the tree program: a type byte, a length (4 bytes, little endian) and that many bytes.
 * A stream that ends within a frame is an error, so a killed peer is never mistaken for one that has finished.
 */
export interface Frame {
  readonly type: number
  readonly payload: Buffer
}

const HEADER_BYTES = 5

/** The peer broke the protocol, or its stream ended within a frame. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** Returns the bytes before a frame's payload. */
export function frameHeader(type: number, length: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt8(type, 0)
  header.writeUInt32LE(length, 1)
  return header
}

/** Writes one frame; returns when the pipe has taken all of it. */
export function writeFrame(fd: number, type: number, ...parts: readonly Uint8Array[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  writeAll(fd, frameHeader(type, length))
  for (const part of parts) writeAll(fd, part)
}

/** Writes every byte at the descriptor's position. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

/**
 * Reads frames from a stream of bytes, each payload into its own buffer.
 *
 * @param maxBytes a longer frame is refused before memory is allocated for it
 */
export async function* readFrames(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Frame> {
  const header = Buffer.alloc(HEADER_BYTES)
  let have = 0
  let payload: Buffer | undefined
  for await (let chunk of source) {
    while (chunk.length > 0 || (payload !== undefined && have === payload.length)) {
      const into = payload ?? header
      const taken = chunk.copy(into, have)
      have += taken
      chunk = chunk.subarray(taken)
      if (have < into.length) break
      have = 0
      if (payload === undefined) {
        const length = header.readUInt32LE(1)
        if (length > maxBytes) throw new FrameError(`a frame of ${length} bytes; the limit is ${maxBytes}`)
        payload = Buffer.allocUnsafeSlow(length)
      } else {
        const frame = { type: header.readUInt8(0), payload }
        payload = undefined
        yield frame
      }
    }
  }
  if (have > 0 || payload !== undefined) throw new FrameError('the stream ended within a frame')
}

/** Reads one frame, blocking, from a descriptor that nobody else reads. */
export function readFrame(fd: number, maxBytes: number): Frame {
  const header = readExactly(fd, HEADER_BYTES)
  const length = header.readUInt32LE(1)
  if (length > maxBytes) throw new FrameError(`a frame of ${length} bytes; the limit is ${maxBytes}`)
  return { type: header.readUInt8(0), payload: readExactly(fd, length) }
}

function readExactly(fd: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let have = 0; have < length; ) {
    const got = readSync(fd, bytes, have, length - have, null)
    if (got === 0) throw new FrameError('the stream ended within a frame')
    have += got
  }
  return bytes
}
