/**
 * Characters that nobody sees or that change the reading order: control characters of both sets, zero-width characters,
 * bidirectional marks and tags. Agents choose the text that is shown beside a decision, so none of them may hide there.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them is sought alone
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\u{e0000}-\u{e0fff}]/u

/**
 * The same characters one after another, and the sequences of emoji, in which some of them are part of what is seen.
 * Only sequences that people recommend for use count, so that nothing can be hidden in one.
 */
const emojiOrHidden = new RegExp(`\\p{RGI_Emoji}|(${hidden.source})`, 'gv')

const spelled = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`
}

/** Returns text with every hidden character spelt out, such as `⟨U+202E⟩`; line breaks and tabs stay. */
export function printable(text: string): string {
  const whole = text.toWellFormed().replace(/\r\n/g, '\n')
  if (!hidden.test(whole)) return whole
  return whole.replace(emojiOrHidden, (all, character?: string) => (character === undefined ? all : spelled(character)))
}

/** Counts the hidden characters of a text; line breaks of either kind are none. */
export function hiddenCharacters(text: string): number {
  const whole = text.replace(/\r\n/g, '\n')
  if (!hidden.test(whole)) return 0
  return [...whole.matchAll(emojiOrHidden)].filter(match => match[1] !== undefined).length
}

/** Returns the text on one line, with breaks and tabs spelt out. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '⏎').replaceAll('\t', '⇥')
}

/** Returns whether a line has a hidden character, beside the return at its end. */
export function hasHidden(line: string): boolean {
  return hiddenCharacters(line.endsWith('\r') ? line.slice(0, -1) : line) > 0
}

/** Splits text into visible parts and hidden characters, which are spelt out. */
export function hiddenParts(text: string): readonly { readonly text: string; readonly isHidden: boolean }[] {
  const parts: { text: string; isHidden: boolean }[] = []
  let from = 0
  const whole = text.toWellFormed()
  if (!hidden.test(whole)) return [{ text: whole, isHidden: false }]
  for (const { 1: character, index } of whole.matchAll(emojiOrHidden)) {
    if (character === undefined) continue
    if (index > from) parts.push({ text: whole.slice(from, index), isHidden: false })
    parts.push({ text: spelled(character), isHidden: true })
    from = index + character.length
  }
  if (from < whole.length) parts.push({ text: whole.slice(from), isHidden: false })
  return parts
}
