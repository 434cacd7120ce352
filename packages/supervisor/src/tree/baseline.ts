import { fstatSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { writeAll } from './frames.ts'
import { IDENTITY_DOUBLES, type Identity, type Segment } from './index-writer.ts'
import { endOf, isBelow, isPathAt, kindAt, pathAt } from './record.ts'

/**
 * The state of one tree on one disk at its last seal or restore: the index, and an identity for each entry. A file or
 * link with the same identity has not changed since, and a directory has the same names. A directory that held more
 * than its entries has no identity. The sandbox cannot see the file, and it is valid for this disk only. Losing it
 * costs time but no work.
 *
 * `[8 bytes magic][u32 segments][u32 index bytes][u32 entries]`, the ends of the segments (u32), identities (three f64
 * each), index, `[u32 CRC-32 of all before]`. The CRC detects a write torn by a crash of the host.
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

/** A baseline's entry for one path. */
export interface Known {
  /** True if the path still holds the very file, directory or link that the index describes. */
  readonly untouched: boolean
  /** True if its times are those of the index; the numbers of directories differ in an overlay. */
  readonly hasTimes: boolean
  readonly kind: number
  /** Bounds of its entry in the index. */
  readonly start: number
  readonly end: number
}

/** A baseline read back. Lookups must follow the order of the index, as a walk does. */
export class Baseline {
  readonly index: Buffer
  readonly segments: readonly Segment[]
  readonly #identities: Float64Array
  /** The entry that the next lookup probably needs. */
  #at = 0
  #ordinal = 0
  /** The entry returned last by `nextIn`. */
  #named = -1

  private constructor({ index, identities, segments }: BaselineParts) {
    this.index = index
    this.#identities = identities
    this.segments = segments
  }

  /** Returns undefined if the file is torn or missing. */
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

  /** Returns the baseline's entry for a path. */
  find(path: string, now: NonNullable<Identity>): Known | undefined {
    const { index } = this
    if (!isPathAt(index, this.#at, path)) {
      for (let next = this.#next(); next !== undefined && isBefore(next, path); next = this.#next()) this.#advance()
      if (!isPathAt(index, this.#at, path)) return undefined
    }
    const identity = this.#ordinal * IDENTITY_DOUBLES
    const start = this.#at
    this.#advance()
    const hasTimes = this.#identities[identity + 1] === now.mtimeMs && this.#identities[identity + 2] === now.ctimeMs
    const untouched = hasTimes && this.#identities[identity] === now.ino
    return { untouched, hasTimes, kind: kindAt(index, start), start, end: this.#at }
  }

  /**
   * Returns the path of the next entry directly inside a directory.
   *
   * @param prefix the directory's path and a slash; each call after its lookup returns another entry
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

  /**
   * Visits every entry below a directory, whose lookup was the last.
   * @param visit returns false to stop; the directory's entries can then be looked up one by one
   * @returns the identities of all of them; undefined if `visit` stopped
   */
  below(
    path: string,
    visit: (start: number, end: number, isWhole: boolean) => boolean,
  ): { readonly start: number; readonly end: number; readonly identities: Float64Array } | undefined {
    const prefix = Buffer.from(`${path}/`, 'latin1')
    const { index } = this
    const start = this.#at
    let at = start
    let ordinal = this.#ordinal
    while (at < index.length && isBelow(index, at, prefix)) {
      const end = endOf(index, at)
      if (!visit(at, end, !Number.isNaN(this.#identities[ordinal * IDENTITY_DOUBLES]))) return undefined
      at = end
      ordinal++
    }
    const identities = this.#identities.subarray(this.#ordinal * IDENTITY_DOUBLES, ordinal * IDENTITY_DOUBLES)
    this.#at = at
    this.#ordinal = ordinal
    return { start, end: at, identities }
  }

  #next(): string | undefined {
    return pathAt(this.index, this.#at)
  }

  #advance(): void {
    this.#at = endOf(this.index, this.#at)
    this.#ordinal++
  }
}

/** Compares in the order of an index: a directory, everything in it, then the next name. */
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

/** Returns a file from its beginning. */
export function readWhole(fd: number): Buffer {
  const file = Buffer.allocUnsafeSlow(fstatSync(fd).size)
  let have = 0
  while (have < file.length) {
    const got = readSync(fd, file, have, file.length - have, have)
    if (got === 0) break
    have += got
  }
  return file.subarray(0, have)
}
