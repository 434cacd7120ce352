/** The longest name or path that a section shows. */
const LONGEST = 80

/**
 * Returns a text of an agent, a repository or a person as inline code of Markdown: one line in which nothing is a mention, a
 * link, HTML or the end of the code, and every character is seen.
 */
export function inlineCode(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll('`', '’')
    .replaceAll(/<!-{0,2}|--!?>/g, '·')
    .trim()
  const characters = [...line]
  const shown = characters.length > LONGEST ? `${characters.slice(0, LONGEST - 1).join('')}…` : line
  return `\`${shown === '' ? '?' : shown}\``
}
