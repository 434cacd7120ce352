import type { Readable } from 'node:stream'

/** What identifies a blob, and how much it is. */
export interface BlobRef {
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** One blob as a collector sees it. */
export interface BlobEntry extends BlobRef {
  /** When the content was last put, by whomever: younger than the longest command means it may not be referenced yet. */
  readonly putAt: Date
}

/**
 * Content kept by its digest. Putting the same content twice, at once or years apart, keeps one copy. What `put` has
 * answered survives a crash of the machine.
 */
export interface Blobs {
  /** @throws StorageFull; nothing of a failed put remains */
  put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef>
  /**
   * Streams a blob and verifies it on the way: content that is not what its digest says ends in BlobCorrupt instead of an
   * end, so whoever reads to the end has read the truth.
   * @throws BlobMissing
   */
  get(sha256: string): Promise<Readable>
  stat(sha256: string): Promise<BlobRef | undefined>
  has(sha256: string): Promise<boolean>
  /** Idempotent. A reader under way reads on. Racing with a put of the same content, either may win. */
  delete(sha256: string): Promise<void>
  /** Every blob, in no order. Blobs put or deleted meanwhile may or may not appear. */
  list(): AsyncIterable<BlobEntry>
}

/** No blob has this digest. */
export class BlobMissing extends Error {
  override readonly name = 'BlobMissing'

  constructor(sha256: string) {
    super(`no blob ${sha256}`)
  }
}

/** The store has lost or altered content. */
export class BlobCorrupt extends Error {
  override readonly name = 'BlobCorrupt'

  constructor(sha256: string) {
    super(`blob ${sha256} is corrupt`)
  }
}

/** The store has no room left. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'

  constructor(cause: unknown) {
    super('no space left for blobs', { cause })
  }
}

const pattern = /^[0-9a-f]{64}$/

/** Guards every path and key that is made of a digest. */
export function requireSha256(text: string): string {
  if (!pattern.test(text)) throw new TypeError('not a SHA-256 in lower-case hexadecimal digits')
  return text
}
