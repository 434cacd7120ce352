import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { frameTypes, maxFrameBytes } from '@berth/supervisor/tree'
import { type Frame, frameHeader, readFrames } from '@berth/supervisor/tree/frames'
import type { BlobRef } from '../../storage/blobs/blobs.ts'

/** Puts content into the store of a service from this host; false if it did not get there, for whatever reason. */
export type PutFromHere = (blob: BlobRef, content: Uint8Array) => Promise<boolean>

/** A smaller pack costs the worker less than the question. */
const LEAST_BYTES = 64 * 1024
/** Packs that are put at once, and held in memory meanwhile. */
const AT_ONCE = 3
/** Bytes of a pack ahead of its zstd frame. */
const PACK_HEADER = 8

/**
 * Puts the packs among a tree program's frames into the store, and names each one in the place where it was. One that did
 * not get there goes on as it came.
 */
export function divertPacks(output: Readable, put: PutFromHere): Readable {
  return Readable.from(diverted(output, put), { objectMode: false })
}

async function* diverted(output: Readable, put: PutFromHere): AsyncGenerator<Buffer> {
  const ahead: Promise<Buffer>[] = []
  for await (const frame of readFrames(output, maxFrameBytes)) {
    // Only this host may say so, and the program runs as the agent's user.
    if (frame.type === frameTypes.stored) throw new Error('a tree program named a pack that it cannot have put')
    const next = divert(frame, put)
    next.catch(() => undefined)
    ahead.push(next)
    while (ahead.length > AT_ONCE) yield (await ahead.shift()) ?? Buffer.alloc(0)
  }
  for (const next of ahead) yield await next
}

async function divert({ type, payload }: Frame, put: PutFromHere): Promise<Buffer> {
  const asItCame = () => Buffer.concat([frameHeader(type, payload.length), payload])
  if (type !== frameTypes.pack || payload.length < LEAST_BYTES) return asItCame()
  const content = payload.subarray(PACK_HEADER)
  const digest = createHash('sha256').update(content).digest()
  const blob = { sha256: digest.toString('hex'), sizeBytes: content.length }
  if (!(await put(blob, content))) return asItCame()
  const size = Buffer.alloc(4)
  size.writeUInt32LE(content.length)
  const named = Buffer.concat([payload.subarray(0, PACK_HEADER), size, digest])
  return Buffer.concat([frameHeader(frameTypes.stored, named.length), named])
}
