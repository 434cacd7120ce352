import type { Baseline } from './baseline.ts'
import { writeFrame } from './frames.ts'
import { frameTypes } from './protocol.ts'
import { pathAt } from './record.ts'
import { zstd } from './zstd.ts'

/** Most of an index is digests, of which no level makes less. */
const LEVEL = 1

/** Compresses the parts of an index while the walk that makes them goes on; a part that was there before only gets a name. */
export class IndexSender {
  readonly #out: number
  /** Parts of the previous index by the path that each begins with. */
  readonly #before = new Map<string, { readonly ordinal: number; readonly content: Buffer }>()
  readonly #frames: Promise<() => void>[] = []

  constructor(out: number, baseline: Baseline | undefined) {
    this.#out = out
    for (const [ordinal, { start, end }] of (baseline?.segments ?? []).entries()) {
      const content = baseline?.index.subarray(start, end) ?? Buffer.alloc(0)
      this.#before.set(pathAt(content, 0) ?? '', { ordinal, content })
    }
  }

  add(content: Buffer): void {
    const frame = this.#frameOf(content)
    // Met when it is sent.
    frame.catch(() => undefined)
    this.#frames.push(frame)
  }

  /** Sends all parts, in order. */
  async send(): Promise<void> {
    for (const frame of this.#frames) (await frame)()
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
