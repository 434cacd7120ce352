import { fstatSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { writeAll } from './frames.ts'
import { IDENTITY_DOUBLES, type Identity, type Segment } from './index-writer.ts'
import { endOf, isPathAt, kindAt, pathAt } from './record.ts'

/**
 * What one tree on one disk looked like at its last seal or restore: the index, and for each entry the identity of what
 * was there. A file or link that still has it was not touched since, and a directory holds the same names; one that held
 * what is not in the index has none. It lies outside the sandbox's sight and means nothing for any other disk; losing it
 * costs time and no work.
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

/** What a baseline has of one path. */
export interface Known {
  /** What is there is the very file, directory or link that the index describes. */
  readonly untouched: boolean
  readonly kind: number
  /** Its entry in the index. */
  readonly start: number
  readonly end: number
}

/** A baseline read back. It is asked in the order of the index, as a walk meets what there is. */
export class Baseline {
  readonly index: Buffer
  readonly segments: readonly Segment[]
  readonly #identities: Float64Array
  /** The entry that the next question is most likely about. */
  #at = 0
  #ordinal = 0
  /** The entry that was named last. */
  #named = -1

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

  /** What is known of a path. */
  find(path: string, now: NonNullable<Identity>): Known | undefined {
    const { index } = this
    if (!isPathAt(index, this.#at, path)) {
      for (let next = this.#next(); next !== undefined && isBefore(next, path); next = this.#next()) this.#advance()
      if (!isPathAt(index, this.#at, path)) return undefined
    }
    const identity = this.#ordinal * IDENTITY_DOUBLES
    const start = this.#at
    this.#advance()
    const untouched =
      this.#identities[identity] === now.ino &&
      this.#identities[identity + 1] === now.mtimeMs &&
      this.#identities[identity + 2] === now.ctimeMs
    return { untouched, kind: kindAt(index, start), start, end: this.#at }
  }

  /**
   * The path of the next entry that lies in a directory, and not below another one in it.
   *
   * @param prefix the directory's path and a slash; once it was found, each call names another entry
   */
  nextIn(prefix: string): string | undefined {
    if (this.#at === this.#named) this.#advance()
    for (let path = this.#next(); path?.startsWith(prefix) === true; path = this.#next()) {
      if (!path.includes('/', prefix.length)) {
        this.#named = this.#at
        return path
      }
      this.#advance()
    }
    return undefined
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
