/**
 * Characters that a terminal obeys or that change the reading order: control characters of both sets, and the invisible
 * bidirectional ones. The agent chooses the text shown here, so none of them may pass.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const visible = (character: string): string => {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/** Returns text that a terminal can show safely; of the control characters, only line breaks and tabs stay. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n|\u2028|\u2029/g, '\n')
    .replace(obeyed, visible)
}

/** Returns the text on one line, with breaks and tabs spelt out. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

/**
 * Returns text for a decision: everything that does not look like itself, such as invisible characters and those that
 * change the reading order, stands there by its number. Only line breaks stay.
 */
export function exact(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n/g, '\n')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u3164\uffa0]|\u115f|\u1160|[\ufe00-\ufe0f]/gu, character =>
      character === '\n'
        ? character
        : `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
    )
}

/** Returns JSON on one line, with the characters escaped that a terminal would obey; the value stays the same. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Cuts a text to a number of characters and marks the cut. */
export function clip(text: string, characters: number): string {
  const all = [...text]
  return all.length <= characters ? text : `${all.slice(0, Math.max(0, characters - 1)).join('')}…`
}
