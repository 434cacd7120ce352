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

/** One blob that was set aside. */
export interface AsideEntry extends BlobRef {
  readonly asideAt: Date
}

/**
 * Content kept by its digest. Putting the same content twice, at once or years apart, keeps one copy. What `put` has
 * answered survives a crash of the machine.
 */
export interface Blobs {
  /** @throws StorageFull; nothing of a failed put can be seen */
  put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef>
  /**
   * Streams a blob and verifies it on the way: content that is not what its digest says ends in BlobCorrupt instead of an
   * end, so whoever reads to the end has read the truth.
   * @throws BlobMissing
   */
  get(sha256: string): Promise<Readable>
  stat(sha256: string): Promise<BlobRef | undefined>
  /**
   * Whether content need not be put again: true protects it from collection as a put would, and so is false for what is
   * set aside, although that can be read. Only its size, where it is given, tells of one that was cut short.
   */
  has(sha256: string, sizeBytes?: number): Promise<boolean>
  /** Idempotent. A reader under way reads on. Racing with a put of the same content, either may win. */
  delete(sha256: string): Promise<void>
}

/** What a collector needs besides. Only one may be at work on a store. */
export interface CollectableBlobs extends Blobs {
  /** Every blob that is not set aside, in no order. Blobs put or deleted meanwhile may or may not appear. */
  list(): AsyncIterable<BlobEntry>
  /**
   * Takes a blob out of its place, whole, to where only readers look. A put meanwhile or later makes it anew in its
   * place. Does nothing where there is none.
   */
  setAside(sha256: string): Promise<void>
  listAside(): AsyncIterable<AsideEntry>
  /** Puts what was set aside back into its place, unless content is there again. */
  bringBack(sha256: string): Promise<void>
  /** Deletes what was set aside, and nothing else. Idempotent. */
  discard(sha256: string): Promise<void>
}

/** A store that says which one it is, to processes that must share it. */
export interface IdentifiedBlobs extends CollectableBlobs {
  /** The identity that was written first; undefined in a store that has none. Proves that the store answers. */
  identity(): Promise<string | undefined>
  /** Writes an identity, unless there is one. No collector sees it. */
  identify(identity: string): Promise<void>
}

/** Name of the object or file that holds the store's identity; no blob can have it. */
export const identityName = 'berth-store'

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

/** The store is away, too slow, or refuses us. The request may be tried again later; HTTP answers 503. */
export class BlobsUnavailable extends Error {
  override readonly name = 'BlobsUnavailable'

  constructor(cause: unknown) {
    super(`blobs unavailable: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, { cause })
  }
}

const pattern = /^[0-9a-f]{64}$/

/** Guards every path and key that is made of a digest. */
export function requireSha256(text: string): string {
  if (!pattern.test(text)) throw new TypeError('not a SHA-256 in lower-case hexadecimal digits')
  return text
}
