import { maxFrameBytes } from '@berth/supervisor/tree'
import { BlobMissing, type BlobRef, type Blobs } from '../storage/blobs/blobs.ts'

/** What may be under way: small blobs wait for the disk together, long ones are bounded by what they take of memory. */
const BLOBS_AT_ONCE = 16
const BYTES_AT_ONCE = 3 * maxFrameBytes

/**
 * Puts blobs, some at once, and reads each back from the store before it counts: what a checkpoint names was there,
 * whole, after it was written. A blob that the store had already is put all the same, which renews its age, so that no
 * collector takes it for garbage before the checkpoint is recorded.
 */
export class BlobSink {
  readonly #blobs: Blobs
  readonly #signal: AbortSignal | undefined
  readonly #underWay = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | undefined
  #bytesUnderWay = 0
  #newBytes = 0

  constructor(blobs: Blobs, signal: AbortSignal | undefined) {
    this.#blobs = blobs
    this.#signal = signal
  }

  /** Bytes that were put. */
  get newBytes(): number {
    return this.#newBytes
  }

  /** Takes a blob, once there is room for one more; `stored` hears of it in no order. @throws what an earlier put threw */
  async add(content: Uint8Array, stored: (blob: BlobRef) => void): Promise<void> {
    while (!this.#hasRoomFor(content.length)) await Promise.race(this.#underWay)
    this.#check()
    this.#bytesUnderWay += content.length
    this.#begin(
      this.#put(content)
        .then(stored)
        .finally(() => {
          this.#bytesUnderWay -= content.length
        }),
    )
  }

  /** Counts on a blob of an earlier checkpoint, which is looked up meanwhile. */
  reuse({ sha256, sizeBytes }: BlobRef): void {
    this.#begin(
      this.#blobs.has(sha256, sizeBytes).then(there => {
        if (!there) throw new BlobMissing(sha256)
      }),
    )
  }

  /** Waits for all that was added. */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay)
    this.#check()
  }

  #hasRoomFor(bytes: number): boolean {
    const { size } = this.#underWay
    return size === 0 || (size < BLOBS_AT_ONCE && this.#bytesUnderWay + bytes <= BYTES_AT_ONCE)
  }

  #begin(work: Promise<void>): void {
    const underWay = work
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#underWay.delete(underWay))
    this.#underWay.add(underWay)
  }

  #check(): void {
    this.#signal?.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #put(content: Uint8Array): Promise<BlobRef> {
    const blob = await this.#blobs.put(content)
    for await (const _chunk of await this.#blobs.get(blob.sha256)) this.#signal?.throwIfAborted()
    this.#newBytes += blob.sizeBytes
    return blob
  }
}
