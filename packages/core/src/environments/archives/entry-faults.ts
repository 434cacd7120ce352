import { type Entry, type LocalFileHeader, parseExtraFields } from 'yauzl'

const FILE_TYPE = 0o170_000
const REGULAR = 0o100_000
const DIRECTORY = 0o040_000
/** Bits of the flags: encrypted; sizes follow the data; masked headers. */
const ENCRYPTED = 0x1
const SIZES_FOLLOW = 0x8
const MASKED = 0x2000
const STORED = 0
const DEFLATED = 8
const ZIP64_FIELD = 0x0001
/** A name in UTF-8 that some readers take in place of the header's. */
const UNICODE_PATH_FIELD = 0x7075
const UNKNOWN_SIZE = 0xffff_ffff
/** No file system of a sandbox takes more. */
const MAX_SEGMENT_BYTES = 255
const MAX_NAME_BYTES = 1024
/** Each segment may be a directory of its own, which costs the host an inode and a block. */
const MAX_SEGMENTS = 32

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the name of an entry; null if it is not UTF-8. */
export function nameOf({ fileNameRaw }: Entry): string | null {
  try {
    return utf8.decode(fileNameRaw)
  } catch {
    return null
  }
}

/** Returns why an entry's name is refused; null if it names one place below the root on every system. */
export function nameFault(name: string): string | null {
  if (name.includes('\0') || name.includes('\\')) return 'has a name with a backslash or U+0000'
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'has an absolute name'
  const segments = name.replace(/\/$/, '').split('/')
  if (segments.includes('..')) return 'lies outside the root of the archive'
  if (segments.includes('') || segments.includes('.')) return 'has an empty or `.` segment in its name'
  if (segments.length > MAX_SEGMENTS) return `lies more than ${MAX_SEGMENTS} directories deep`
  const long = Buffer.byteLength(name) > MAX_NAME_BYTES
  if (long || segments.some(segment => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES))
    return `has a name of more than ${MAX_NAME_BYTES} bytes, or a segment of more than ${MAX_SEGMENT_BYTES}`
  return null
}

/** Returns whether a file of Unix may be run. */
export const isExecutable = ({ externalFileAttributes }: Entry): boolean =>
  ((externalFileAttributes >>> 16) & 0o111) !== 0

/** Returns why an entry is refused for what its central header says it is; null if it is a file or a directory. */
export function kindFault(entry: Entry, name: string): string | null {
  if ((entry.generalPurposeBitFlag & (ENCRYPTED | MASKED)) !== 0) return 'is encrypted'
  if (![STORED, DEFLATED].includes(entry.compressionMethod)) return 'is neither stored nor deflated'
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  const isDirectory = name.endsWith('/')
  if (type !== 0 && type !== (isDirectory ? DIRECTORY : REGULAR)) return 'is neither a file nor a directory'
  if (isDirectory && entry.uncompressedSize !== 0) return 'is a directory with content'
  const other = entry.extraFields.find(({ id }) => id === UNICODE_PATH_FIELD)?.data.subarray(5)
  return other !== undefined && !other.equals(entry.fileNameRaw) ? 'has two names' : null
}

/** Returns why an entry's two headers cannot both be true; null if they agree. */
export function headerFault(entry: Entry, local: LocalFileHeader): string | null {
  const differs =
    !local.fileName.equals(entry.fileNameRaw) ||
    local.generalPurposeBitFlag !== entry.generalPurposeBitFlag ||
    local.compressionMethod !== entry.compressionMethod
  const follow = (local.generalPurposeBitFlag & SIZES_FOLLOW) !== 0
  const { compressed, uncompressed } = sizesOf(local)
  const agrees = (declared: number, central: number) => declared === central || (follow && declared === 0)
  if (
    differs ||
    !agrees(local.crc32, entry.crc32) ||
    !agrees(compressed, entry.compressedSize) ||
    !agrees(uncompressed, entry.uncompressedSize)
  )
    return 'has two headers that disagree'
  return null
}

/** Returns the sizes that a local header gives, in the ZIP64 field if they are there. @throws Error if it is malformed */
function sizesOf({ compressedSize, uncompressedSize, extraField }: LocalFileHeader) {
  const wide = parseExtraFields(extraField).find(({ id }) => id === ZIP64_FIELD)?.data
  if (wide === undefined || wide.length < 16) return { compressed: compressedSize, uncompressed: uncompressedSize }
  return {
    compressed: compressedSize === UNKNOWN_SIZE ? Number(wide.readBigUInt64LE(8)) : compressedSize,
    uncompressed: uncompressedSize === UNKNOWN_SIZE ? Number(wide.readBigUInt64LE(0)) : uncompressedSize,
  }
}
