/**
 * One entry of an index: `[u8 kind][u16 mode][f64 mtime µs][u16 path length][u32 tail length][path][tail]`. The tail of
 * a file is `[f64 size]` and its chunks in order, `[u32 pack][u32 offset][u32 length][32 bytes SHA-256]`; that of a
 * link is its target. Parents come first, and names are in byte order. Numbers are little endian.
 *
 * Paths are bytes, kept as strings of one character per byte (latin1), which compare in byte order.
 */
export const kinds = { directory: 1, file: 2, symlink: 3, hardLink: 4 } as const

export const HEAD_BYTES = 17
export const SIZE_BYTES = 8
export const CHUNK_BYTES = 44
const DIGEST_AT = 12

/** Longest path that the kernel accepts in one call. */
export const MAX_PATH_BYTES = 4095

export interface RecordHead {
  readonly kind: number
  /** The nine rwx bits. */
  readonly mode: number
  readonly mtimeUs: number
  readonly path: string
  readonly tailAt: number
  readonly end: number
}

/** Position of a chunk. */
export interface ChunkRef {
  readonly pack: number
  readonly offset: number
  readonly length: number
  /** One character per byte. */
  readonly sha256: string
}

// Readers of single fields, for code that visits every entry of a long index but needs few of them.

export function kindAt(index: Buffer, at: number): number {
  return index.readUInt8(at)
}

export function modeAt(index: Buffer, at: number): number {
  return index.readUInt16LE(at + 1)
}

/** Returns undefined at the end of the index. */
export function pathAt(index: Buffer, at: number): string | undefined {
  return at < index.length ? index.toString('latin1', at + HEAD_BYTES, tailOf(index, at)) : undefined
}

/** Compares an entry's path without creating a string, because most of a long index is unchanged. */
export function isPathAt(index: Buffer, at: number, path: string): boolean {
  if (at >= index.length || index.readUInt16LE(at + 11) !== path.length) return false
  // Compare from the end, because neighbours share their beginnings.
  for (let n = path.length - 1; n >= 0; n--) if (index[at + HEAD_BYTES + n] !== path.charCodeAt(n)) return false
  return true
}

/** Tells whether an entry's path begins with a prefix, without creating a string. */
export function isBelow(index: Buffer, at: number, prefix: Buffer): boolean {
  if (index.readUInt16LE(at + 11) < prefix.length) return false
  for (let n = prefix.length - 1; n >= 0; n--) if (index[at + HEAD_BYTES + n] !== prefix[n]) return false
  return true
}

export function tailOf(index: Buffer, at: number): number {
  return at + HEAD_BYTES + index.readUInt16LE(at + 11)
}

export function endOf(index: Buffer, at: number): number {
  return tailOf(index, at) + index.readUInt32LE(at + 13)
}

/** Returns the length of the file at a position. */
export function sizeAt(index: Buffer, at: number): number {
  return index.readDoubleLE(tailOf(index, at))
}

/** Returns the position of the first chunk of the file at a position. */
export function chunksAt(index: Buffer, at: number): number {
  return tailOf(index, at) + SIZE_BYTES
}

/** Reads the entry at a position; returns undefined if the buffer ends within it. */
export function readHead(index: Buffer, at: number): RecordHead | undefined {
  if (at + HEAD_BYTES > index.length) return undefined
  const pathAt = at + HEAD_BYTES
  const tailAt = pathAt + index.readUInt16LE(at + 11)
  const end = tailAt + index.readUInt32LE(at + 13)
  if (end > index.length) return undefined
  return {
    kind: index.readUInt8(at),
    mode: index.readUInt16LE(at + 1),
    mtimeUs: index.readDoubleLE(at + 3),
    path: index.toString('latin1', pathAt, tailAt),
    tailAt,
    end,
  }
}

/** Writes an entry's head and path; the caller has made room. @returns the position of its tail */
export function writeHead(
  into: Buffer,
  at: number,
  head: { kind: number; mode: number; mtimeUs: number; path: string; tailBytes: number },
): number {
  into.writeUInt8(head.kind, at)
  into.writeUInt16LE(head.mode, at + 1)
  into.writeDoubleLE(head.mtimeUs, at + 3)
  into.writeUInt16LE(head.path.length, at + 11)
  into.writeUInt32LE(head.tailBytes, at + 13)
  return at + HEAD_BYTES + into.write(head.path, at + HEAD_BYTES, 'latin1')
}

/** Returns the pack of the chunk at a position. */
export function packAt(index: Buffer, at: number): number {
  return index.readUInt32LE(at)
}

/** Returns the position of a chunk, without its digest. */
export function readPlace(index: Buffer, at: number): Omit<ChunkRef, 'sha256'> {
  return { pack: index.readUInt32LE(at), offset: index.readUInt32LE(at + 4), length: index.readUInt32LE(at + 8) }
}

export function readChunk(index: Buffer, at: number): ChunkRef {
  return {
    pack: index.readUInt32LE(at),
    offset: index.readUInt32LE(at + 4),
    length: index.readUInt32LE(at + 8),
    sha256: index.toString('latin1', at + DIGEST_AT, at + CHUNK_BYTES),
  }
}

export function writeChunk(into: Buffer, at: number, chunk: ChunkRef): void {
  into.writeUInt32LE(chunk.pack, at)
  into.writeUInt32LE(chunk.offset, at + 4)
  into.writeUInt32LE(chunk.length, at + 8)
  into.write(chunk.sha256, at + DIGEST_AT, 'latin1')
}
