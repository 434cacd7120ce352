import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { LineBroken } from './line-error.ts'

/** Bytes of the number that says how long a frame is. */
const LENGTH_BYTES = 4

/** Writes one value ahead of a stream's bytes. */
export function writeFrame(stream: Duplex, value: unknown): void {
  const json = Buffer.from(JSON.stringify(value) ?? 'null')
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + json.length)
  frame.writeUInt32BE(json.length)
  frame.set(json, LENGTH_BYTES)
  stream.write(frame)
}

/**
 * Reads the value ahead of a stream's bytes, which stay in the stream.
 * @param most longest value in bytes
 * @throws LineBroken if the other side left, wrote more, or wrote something else; the signal's reason
 */
export async function readFrame(stream: Duplex, most: number, signal: AbortSignal): Promise<unknown> {
  const length = (await readBytes(stream, LENGTH_BYTES, signal)).readUInt32BE()
  if (length > most) throw new LineBroken(`a value of ${length} bytes is longer than ${most}`)
  const json = length === 0 ? Buffer.from('null') : await readBytes(stream, length, signal)
  try {
    return JSON.parse(json.toString())
  } catch (cause) {
    throw new LineBroken('not a value', { cause })
  }
}

/** Collects parts, since a stream keeps no more than its high-water mark until somebody reads. */
async function readBytes(stream: Duplex, count: number, signal: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = []
  for (let missing = count; missing > 0; ) {
    const part = await readSome(stream, missing, signal)
    parts.push(part)
    missing -= part.length
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

/**
 * Reads at least one byte of a stream.
 * @throws LineBroken if the other side left; the signal's reason
 */
export async function readSome(stream: Duplex, most: number, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    signal.throwIfAborted()
    const part: Buffer | null = stream.read(Math.min(most, stream.readableLength))
    if (part !== null && part.length > 0) return part
    if (stream.readableEnded || stream.destroyed) throw new LineBroken('the other side left')
    await readableAgain(stream, signal)
  }
}

async function readableAgain(stream: Duplex, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const until = { signal: AbortSignal.any([signal, over.signal]) }
  try {
    await Promise.race(['readable', 'end', 'close'].map(event => once(stream, event, until)))
  } catch (error) {
    signal.throwIfAborted()
    throw new LineBroken('the stream broke', { cause: error })
  } finally {
    over.abort()
  }
}
