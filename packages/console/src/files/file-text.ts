import { hiddenCharacters } from '../ui/printable.ts'

/** The content of a file as people read it. */
export interface FileText {
  readonly lines: readonly string[]
  /** Characters that nobody sees, or that change the reading order. */
  readonly hidden: number
  /** False if some bytes are no UTF-8; they show as `�`. */
  readonly valid: boolean
}

/** More than this is neither opened without being asked for, nor highlighted. */
export const eagerBytes = 1024 ** 2
export const highlightedLines = 20_000
/** More than this is only downloaded. */
export const shownBytes = 16 * 1024 ** 2
/** A longer line is cut where it is shown. */
export const lineCharacters = 2_000

const sniffed = 8_192

/** Returns true if the bytes are no text. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, sniffed).includes(0)
}

/** Reads bytes as text. The last line break ends the last line; it begins no other. */
export function fileText(bytes: Uint8Array): FileText {
  const text = new TextDecoder('utf-8').decode(bytes)
  const lines = text.replace(/\n$/, '').split('\n')
  return { lines, hidden: hiddenCharacters(text), valid: !text.includes('\ufffd') }
}

const pictures: readonly (readonly [type: string, ...signature: readonly (number | null)[]])[] = [
  ['image/png', 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  ['image/jpeg', 0xff, 0xd8, 0xff],
  ['image/gif', 0x47, 0x49, 0x46, 0x38],
  ['image/webp', 0x52, 0x49, 0x46, 0x46, null, null, null, null, 0x57, 0x45, 0x42, 0x50],
  ['image/avif', null, null, null, null, 0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66],
  ['image/bmp', 0x42, 0x4d],
]

/** Returns the type of a picture by its first bytes, ignoring its name; null if it is none. */
export function pictureType(bytes: Uint8Array): string | null {
  const found = pictures.find(([, ...signature]) => signature.every((byte, at) => byte === null || bytes[at] === byte))
  if (found !== undefined) return found[0]
  // As an image a browser runs no script of it and loads nothing for it.
  const start = new TextDecoder().decode(bytes.subarray(0, 1024)).trimStart()
  return /^(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]/i.test(start)
    ? 'image/svg+xml'
    : null
}
