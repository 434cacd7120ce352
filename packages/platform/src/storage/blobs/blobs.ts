import type { Readable } from 'node:stream'

/** Digest and size of a blob. */
export interface BlobRef {
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** One blob in its place, as `list` yields it. */
export interface BlobEntry extends BlobRef {
  /** When the content was last put. No row may reference a blob that is younger than the longest command. */
  readonly putAt: Date
}

/** One blob that was set aside. */
export interface AsideEntry extends BlobRef {
  readonly asideAt: Date
}

/**
 * Content addressed by its digest. A store keeps one copy of the same content, however often it is put. Content that
 * `put` has stored survives a crash of the machine.
 */
export interface Blobs {
  /**
   * Stores content. A failed put leaves nothing that a reader can see.
   * @throws StorageFull
   */
  put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef>
  /**
   * Streams a blob and verifies it on the way. Content that does not match its digest ends in BlobCorrupt instead of an
   * end, so a reader that reaches the end has read the original bytes.
   * @throws BlobMissing
   */
  get(sha256: string): Promise<Readable>
  stat(sha256: string): Promise<BlobRef | undefined>
  /**
   * Returns true if the caller need not put the content again; like a put, true protects the content from collection.
   * Returns false for content that is set aside, although `get` can still read it. Only `sizeBytes` reveals a truncated
   * blob.
   */
  has(sha256: string, sizeBytes?: number): Promise<boolean>
  /**
   * Deletes a blob. Idempotent: a reader that has begun reads on, and if a put of the same content races, either may
   * win.
   */
  delete(sha256: string): Promise<void>
}

/** A store that a collector can sweep. Only one collector may work on a store at a time. */
export interface CollectableBlobs extends Blobs {
  /** Lists every blob that is not set aside, in no order. Blobs put or deleted meanwhile may or may not appear. */
  list(): AsyncIterable<BlobEntry>
  /**
   * Moves a blob, whole, to a place that only readers look in; does nothing if there is no such blob. A put, meanwhile
   * or later, makes the blob again in its own place.
   */
  setAside(sha256: string): Promise<void>
  listAside(): AsyncIterable<AsideEntry>
  /** Moves a blob that was set aside back into its place, unless the content is there again. */
  bringBack(sha256: string): Promise<void>
  /** Deletes the copy that was set aside and nothing else. Idempotent. */
  discard(sha256: string): Promise<void>
}

/** A store that carries an identity, so that processes can tell that they share it. */
export interface IdentifiedBlobs extends CollectableBlobs {
  /**
   * Reads the identity that was written first; undefined if the store has none. An answer proves that the store can be
   * reached.
   */
  identity(): Promise<string | undefined>
  /** Writes an identity unless the store has one. No collector lists it. */
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

/** The store cannot be reached, is too slow, or refuses access. The caller may try again later; HTTP answers 503. */
export class BlobsUnavailable extends Error {
  override readonly name = 'BlobsUnavailable'

  constructor(cause: unknown) {
    super(`blobs unavailable: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, { cause })
  }
}

const pattern = /^[0-9a-f]{64}$/

/**
 * Returns the text if it is a digest; guards every path and key that is made of one.
 * @throws TypeError
 */
export function requireSha256(text: string): string {
  if (!pattern.test(text)) throw new TypeError('not a SHA-256 in lower-case hexadecimal digits')
  return text
}
