import { isUtf8 } from 'node:buffer'

/** A file's bytes as text that can be written back without changing a byte. */
export interface TextFile {
  readonly encoding: 'UTF-8' | 'UTF-16' | 'Windows-1252' | 'UTF-8 with other bytes'
  /** One-to-one with the bytes, with any byte order mark. */
  readonly text: string
  /** The text as the model sees it. It differs from `text` only if some bytes are no characters. */
  readonly shown: string
  /** Turns text of the model into the characters of `text`. */
  readonly given: (text: string) => string
  /**
   * Returns the bytes of `text`.
   * @throws Error if the encoding has no such character
   */
  readonly encode: (text: string) => Buffer
}

const windows1252 = [...new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))]
const windowsBytes = new Map(windows1252.map((character, byte) => [character, byte]))

/**
 * Decodes a file so that every byte survives a round trip.
 *
 * Text that is not UTF-8 is usually of an 8-bit encoding, which no one can tell for sure. Windows-1252 is the most
 * common one, extends Latin-1, and gives each byte a character, so it keeps the bytes of any other one too.
 * @returns null if the file is binary
 */
export function decodeFile(bytes: Buffer): TextFile | null {
  if (isUtf8(bytes)) return utf8(bytes)
  if (bytes.length % 2 === 0 && bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes, same => same)
  if (bytes.length % 2 === 0 && bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(Buffer.from(bytes).swap16(), swap)
  if (bytes.includes(0)) return null
  const shown = bytes.toString('utf8')
  return /[^\0-\x7f\ufffd]/.test(shown) ? mixed(bytes, shown) : eightBit(bytes)
}

/** Returns a sentence that tells the model how a file that is not UTF-8 is shown; null if it is UTF-8. */
export function encodingNote(bytes: Buffer): string | null {
  const file = decodeFile(bytes)
  if (file === null) return 'This file is not text. Bytes that are not UTF-8 are shown as U+FFFD.'
  if (file.encoding === 'UTF-8') return null
  if (file.encoding === 'UTF-8 with other bytes')
    return 'This file is not wholly UTF-8. Bytes that are not are shown as U+FFFD; edit keeps them, write would lose them.'
  if (file.encoding === 'UTF-16') return 'This file is UTF-16. edit and write keep that.'
  return 'This file is not UTF-8. It is shown as Windows-1252, one character for each byte; edit and write keep that.'
}

const same = (text: string) => text
const swap = (bytes: Buffer) => bytes.swap16()

function utf8(bytes: Buffer): TextFile {
  const text = bytes.toString('utf8')
  return { encoding: 'UTF-8', text, shown: text, given: same, encode: wellFormed }
}

function utf16(littleEndian: Buffer, order: (bytes: Buffer) => Buffer): TextFile | null {
  const text = littleEndian.toString('utf16le')
  if (text.includes('\0')) return null
  const given = (part: string) => wellFormed(part).toString()
  return { encoding: 'UTF-16', text, shown: text, given, encode: edited => order(Buffer.from(edited, 'utf16le')) }
}

function eightBit(bytes: Buffer): TextFile {
  const text = bytes.toString('latin1').replaceAll(/[\x80-\x9f]/g, byte => windows1252[byte.charCodeAt(0)] ?? byte)
  return { encoding: 'Windows-1252', text, shown: text, given: same, encode: toWindows1252 }
}

/** Each character of the text is a byte, since some bytes are not part of any UTF-8 character. */
function mixed(bytes: Buffer, shown: string): TextFile {
  return {
    encoding: 'UTF-8 with other bytes',
    text: bytes.toString('latin1'),
    shown,
    given: text => wellFormed(text).toString('latin1'),
    encode: text => Buffer.from(text, 'latin1'),
  }
}

/**
 * Returns the text's bytes in UTF-8.
 * @throws Error if it holds half of a surrogate pair
 */
export function wellFormed(text: string): Buffer {
  if (!text.isWellFormed()) throw new Error('The text holds half of a surrogate pair, which no file can hold.')
  return Buffer.from(text, 'utf8')
}

/**
 * Returns the text's bytes in Windows-1252.
 * @throws Error if it has no such character
 */
export function toWindows1252(text: string): Buffer {
  const characters = [...text]
  const bytes = Buffer.alloc(characters.length)
  for (const [index, character] of characters.entries()) {
    const byte = windowsBytes.get(character)
    if (byte === undefined) throw new Error(`Windows-1252 has no ${JSON.stringify(character)}`)
    bytes[index] = byte
  }
  return bytes
}
