import type { Baseline } from './baseline.ts'
import { writeFrame } from './frames.ts'
import { frameTypes } from './protocol.ts'
import { pathAt } from './record.ts'
import { zstd } from './zstd.ts'

/** An index is mostly digests, which no level compresses better. */
const LEVEL = 1

/**
 * Compresses and sends the segments of an index during the walk that creates them, so the worker stores them meanwhile.
 * A segment of the previous index is sent by its number only.
 */
export class IndexSender {
  readonly #out: number
  /** Segments of the previous index, by the path that each begins with. */
  readonly #before = new Map<string, { readonly ordinal: number; readonly content: Buffer }>()
  #sent: Promise<void> = Promise.resolve()

  constructor(out: number, baseline: Baseline | undefined) {
    this.#out = out
    for (const [ordinal, { start, end }] of (baseline?.segments ?? []).entries()) {
      const content = baseline?.index.subarray(start, end) ?? Buffer.alloc(0)
      this.#before.set(pathAt(content, 0) ?? '', { ordinal, content })
    }
  }

  /** Sends a segment after those added before it. */
  add(content: Buffer): void {
    const frame = this.#frameOf(content)
    this.#sent = Promise.all([frame, this.#sent]).then(([send]) => send())
    // `end` reports the failure.
    this.#sent.catch(() => undefined)
  }

  /** Waits until all segments are sent. */
  end(): Promise<void> {
    return this.#sent
  }

  async #frameOf(content: Buffer): Promise<() => void> {
    const before = this.#before.get(pathAt(content, 0) ?? '')
    const number = Buffer.alloc(4)
    if (before?.content.equals(content)) {
      number.writeUInt32LE(before.ordinal)
      return () => writeFrame(this.#out, frameTypes.same, number)
    }
    number.writeUInt32LE(content.length)
    const compressed = await zstd(content, LEVEL)
    return () => writeFrame(this.#out, frameTypes.segment, number, compressed)
  }
}
