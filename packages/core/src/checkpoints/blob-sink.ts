import { BlobMissing, type BlobRef, type Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { maxFrameBytes } from '@berth/supervisor/tree'

/** Bounds of concurrent puts: small blobs wait for the disk together, and long ones are bounded by their memory. */
const BLOBS_AT_ONCE = 16
const BYTES_AT_ONCE = 3 * maxFrameBytes

/**
 * Puts blobs, some at once, and reads each back from the store before it counts. So every blob of a checkpoint was
 * there and whole after the write. It puts even a blob that the store already has: that renews the blob's age, so no
 * collector removes it before the checkpoint is recorded.
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

  /** Number of bytes that were put. */
  get newBytes(): number {
    return this.#newBytes
  }

  /**
   * Puts a blob once there is room for one more; calls to `stored` come in any order.
   *
   * @throws the error of an earlier put
   */
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

  /** Shares a blob of an earlier checkpoint, and meanwhile checks that the store still has it. */
  reuse({ sha256, sizeBytes }: BlobRef): void {
    this.#begin(
      this.#blobs.has(sha256, sizeBytes).then(there => {
        if (!there) throw new BlobMissing(sha256)
      }),
    )
  }

  /** Waits for all added blobs. */
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
