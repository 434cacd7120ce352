/**
 * One entry of an index: `[u8 kind][u16 mode][f64 mtime µs][u16 path length][u32 tail length][path][tail]`. The tail of
 * a file is `[f64 size]` and its chunks in order, `[u32 pack][u32 offset][u32 length][32 bytes SHA-256]`; of a link its
 * target. Entries come parents first, names in byte order. Numbers are little endian.
 *
 * Paths are bytes. They are carried as strings of one character per byte (latin1), which compare in byte order.
 */
export const kinds = { directory: 1, file: 2, symlink: 3, hardLink: 4 } as const

export const HEAD_BYTES = 17
export const SIZE_BYTES = 8
export const CHUNK_BYTES = 44
const DIGEST_AT = 12

/** The kernel takes no longer path in one call. */
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

/** Where a chunk lies. */
export interface ChunkRef {
  readonly pack: number
  readonly offset: number
  readonly length: number
  /** One character per byte. */
  readonly sha256: string
}

// Single fields, for those who look at every entry of a long index and need few of them.

export function kindAt(index: Buffer, at: number): number {
  return index.readUInt8(at)
}

export function modeAt(index: Buffer, at: number): number {
  return index.readUInt16LE(at + 1)
}

/** Undefined at the end of the index. */
export function pathAt(index: Buffer, at: number): string | undefined {
  return at < index.length ? index.toString('latin1', at + HEAD_BYTES, tailOf(index, at)) : undefined
}

/** Whether the entry at a position has this path; without making a string of it, for most of a long index is as before. */
export function isPathAt(index: Buffer, at: number, path: string): boolean {
  if (at >= index.length || index.readUInt16LE(at + 11) !== path.length) return false
  // From the end, where neighbours differ.
  for (let n = path.length - 1; n >= 0; n--) if (index[at + HEAD_BYTES + n] !== path.charCodeAt(n)) return false
  return true
}

export function tailOf(index: Buffer, at: number): number {
  return at + HEAD_BYTES + index.readUInt16LE(at + 11)
}

export function endOf(index: Buffer, at: number): number {
  return tailOf(index, at) + index.readUInt32LE(at + 13)
}

/** The length of the file at a position. */
export function sizeAt(index: Buffer, at: number): number {
  return index.readDoubleLE(tailOf(index, at))
}

/** Where the chunks of the file at a position begin. */
export function chunksAt(index: Buffer, at: number): number {
  return tailOf(index, at) + SIZE_BYTES
}

/** Reads the entry at a position; undefined where the buffer ends within it. */
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

/** Writes an entry's head and path. @returns where its tail begins; the caller has made room */
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

/** The pack of the chunk at a position. */
export function packAt(index: Buffer, at: number): number {
  return index.readUInt32LE(at)
}

/** Where a chunk lies, without its digest. */
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
