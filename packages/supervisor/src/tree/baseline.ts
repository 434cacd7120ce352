import { fstatSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { writeAll } from './frames.ts'
import { IDENTITY_DOUBLES, type Identity, type Segment } from './index-writer.ts'
import { endOf, isPathAt, kindAt, kinds, modeAt, pathAt, SIZE_BYTES, tailOf } from './record.ts'

/**
 * What one tree on one disk looked like at its last seal or restore: the index, and for each entry the identity its
 * file had. A file that still has it was not touched since. It lies outside the sandbox's sight and means nothing for
 * any other disk; losing it costs time and no work.
 *
 * `[8 bytes magic][u32 segments][u32 index bytes][u32 entries]`, the ends of the segments (u32), identities (three f64
 * each), index, `[u32 CRC-32 of all before]`; a write that a crash of the host tore is told by the last.
 */
const magic = Buffer.from('berthbl1')
const HEADER_BYTES = magic.length + 12
const CRC_BYTES = 4

export interface BaselineParts {
  readonly index: Buffer
  readonly identities: Float64Array
  readonly segments: readonly Segment[]
}

export function writeBaseline(fd: number, { index, identities, segments }: BaselineParts): void {
  const header = Buffer.alloc(HEADER_BYTES + segments.length * 4)
  magic.copy(header)
  header.writeUInt32LE(segments.length, 8)
  header.writeUInt32LE(index.length, 12)
  header.writeUInt32LE(identities.length / IDENTITY_DOUBLES, 16)
  for (const [n, segment] of segments.entries()) header.writeUInt32LE(segment.end, HEADER_BYTES + n * 4)
  const identityBytes = Buffer.from(identities.buffer, identities.byteOffset, identities.byteLength)
  let crc = 0
  for (const part of [header, identityBytes, index]) {
    writeAll(fd, part)
    crc = crc32(part, crc)
  }
  const trailer = Buffer.alloc(CRC_BYTES)
  trailer.writeUInt32LE(crc)
  writeAll(fd, trailer)
}

/** What a baseline has of one file. */
export interface KnownFile {
  /** The file is the very one that the index describes. */
  readonly untouched: boolean
  readonly mode: number
  readonly size: number
  /** Its entry in the index. */
  readonly start: number
  readonly end: number
  readonly chunksAt: number
}

/** A baseline read back. Files are asked for in the order of the index, as a walk meets them. */
export class Baseline {
  readonly index: Buffer
  readonly segments: readonly Segment[]
  readonly #identities: Float64Array
  /** The entry that the next question is most likely about. */
  #at = 0
  #ordinal = 0

  private constructor({ index, identities, segments }: BaselineParts) {
    this.index = index
    this.#identities = identities
    this.segments = segments
  }

  /** Undefined for a file that is torn, or none. */
  static read(fd: number): Baseline | undefined {
    const file = readWhole(fd)
    if (file.length < HEADER_BYTES + CRC_BYTES || !file.subarray(0, magic.length).equals(magic)) return undefined
    const body = file.subarray(0, -CRC_BYTES)
    if (crc32(body) !== file.readUInt32LE(body.length)) return undefined
    const segmentCount = file.readUInt32LE(8)
    const segments: Segment[] = []
    for (let n = 0, start = 0; n < segmentCount; n++) {
      const end = file.readUInt32LE(HEADER_BYTES + n * 4)
      segments.push({ start, end })
      start = end
    }
    const identitiesAt = HEADER_BYTES + segmentCount * 4
    const identities = new Float64Array(file.readUInt32LE(16) * IDENTITY_DOUBLES)
    body.copy(Buffer.from(identities.buffer), 0, identitiesAt, identitiesAt + identities.byteLength)
    const indexAt = identitiesAt + identities.byteLength
    return new Baseline({ index: body.subarray(indexAt, indexAt + file.readUInt32LE(12)), identities, segments })
  }

  /** What is known of the file at a path. */
  find(path: string, now: NonNullable<Identity>): KnownFile | undefined {
    const { index } = this
    if (!isPathAt(index, this.#at, path)) {
      for (let next = this.#next(); next !== undefined && isBefore(next, path); next = this.#next()) this.#advance()
      if (!isPathAt(index, this.#at, path)) return undefined
    }
    const identity = this.#ordinal * IDENTITY_DOUBLES
    const start = this.#at
    this.#advance()
    if (kindAt(index, start) !== kinds.file) return undefined
    const untouched =
      this.#identities[identity] === now.ino &&
      this.#identities[identity + 1] === now.mtimeMs &&
      this.#identities[identity + 2] === now.ctimeMs
    const tailAt = tailOf(index, start)
    return {
      untouched,
      mode: modeAt(index, start),
      size: index.readDoubleLE(tailAt),
      start,
      end: endOf(index, start),
      chunksAt: tailAt + SIZE_BYTES,
    }
  }

  #next(): string | undefined {
    return pathAt(this.index, this.#at)
  }

  #advance(): void {
    this.#at = endOf(this.index, this.#at)
    this.#ordinal++
  }
}

/** The order of an index: a directory, all that is in it, then the next name. */
function isBefore(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a !== b) return (a === SLASH ? 0 : a) < (b === SLASH ? 0 : b)
  }
  return one.length < other.length
}

const SLASH = 0x2f

function readWhole(fd: number): Buffer {
  const file = Buffer.allocUnsafeSlow(fstatSync(fd).size)
  let have = 0
  while (have < file.length) {
    const got = readSync(fd, file, have, file.length - have, have)
    if (got === 0) break
    have += got
  }
  return file.subarray(0, have)
}
