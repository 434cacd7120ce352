import { isUtf8 } from 'node:buffer'

/** Tells the model how `shownPath` shows some names. */
export const quotedNote = "[only bash can use names in $'…', which are not UTF-8]"

/** Returns a path as the model sees it: as it is, or, if it is not UTF-8, in the quotes of bash that keep its bytes. */
export function shownPath(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const octal = (byte: string) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
  const text = bytes.toString('latin1').replaceAll(/['\\]/g, '\\$&')
  return `$'${text.replaceAll(/[^ -~]/g, octal)}'`
}

/** Tells whether `shownPath` quotes one of the paths. */
export const anyQuoted = (paths: readonly Buffer[]): boolean => paths.some(path => !isUtf8(path))
