import { fstatSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { writeAll } from './frames.ts'
import { IDENTITY_DOUBLES, type Identity, type Segment } from './index-writer.ts'
import { readHead } from './record.ts'

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

/** A baseline read back, by path. */
export class Baseline {
  readonly index: Buffer
  readonly segments: readonly Segment[]
  readonly #identities: Float64Array
  readonly #entries = new Map<string, { at: number; ordinal: number }>()

  private constructor({ index, identities, segments }: BaselineParts) {
    this.index = index
    this.#identities = identities
    this.segments = segments
    for (let at = 0, ordinal = 0; ; ordinal++) {
      const head = readHead(index, at)
      if (head === undefined) break
      this.#entries.set(head.path, { at, ordinal })
      at = head.end
    }
  }

  /** Undefined for a file that is torn, or none. */
  static read(fd: number): Baseline | undefined {
    const file = readWhole(fd)
    if (file.length < HEADER_BYTES + CRC_BYTES || !file.subarray(0, magic.length).equals(magic)) return undefined
    const body = file.subarray(0, -CRC_BYTES)
    if (crc32(body) !== file.readUInt32LE(body.length)) return undefined
    const [segmentCount, indexBytes, entries] = [8, 12, 16].map(at => file.readUInt32LE(at)) as [number, number, number]
    const segments: Segment[] = []
    for (let n = 0, start = 0; n < segmentCount; n++) {
      const end = file.readUInt32LE(HEADER_BYTES + n * 4)
      segments.push({ start, end })
      start = end
    }
    const identitiesAt = HEADER_BYTES + segmentCount * 4
    const identities = new Float64Array(entries * IDENTITY_DOUBLES)
    body.copy(Buffer.from(identities.buffer), 0, identitiesAt, identitiesAt + identities.byteLength)
    const indexAt = identitiesAt + identities.byteLength
    return new Baseline({ index: body.subarray(indexAt, indexAt + indexBytes), identities, segments })
  }

  /** Where the entry of a path begins in the index. */
  find(path: string): number | undefined {
    return this.#entries.get(path)?.at
  }

  /** Whether the file at a path is the very one that the index describes, untouched. */
  isUntouched(path: string, now: NonNullable<Identity>): boolean {
    const entry = this.#entries.get(path)
    if (entry === undefined) return false
    const at = entry.ordinal * IDENTITY_DOUBLES
    return (
      this.#identities[at] === now.ino &&
      this.#identities[at + 1] === now.mtimeMs &&
      this.#identities[at + 2] === now.ctimeMs
    )
  }
}

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
