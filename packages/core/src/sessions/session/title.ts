import { ownCredentials } from '@berth/platform/kit/redactor.ts'

const MAX_CHARACTERS = 60
/** Longest part of a line that is looked at. */
const MAX_LINE = 1000
const command = /^\/(?:plan|compact|clear)(?:\s+|$)/
const marks = /^(?:#{1,6}\s+|>\s*|[-*+]\s+|\d+[.)]\s+|```.*)+/

/** Returns the title of a Session whose first message is this, of at most 60 characters. */
export const deriveTitle = (message: string | undefined): string => shortTitle(message ?? '') || 'New workspace'

/**
 * Returns the first sentence of a text without commands for the agent and without Markdown, cut at 60 characters; '' if the
 * text says nothing. Berth's own keys in it are masked.
 */
export function shortTitle(text: string): string {
  for (const line of text.split(/\r\n|\r|\n/)) {
    // Masked before anything is taken away: a key may hold what looks like Markdown.
    const title = sentence(ownCredentials.text(line).slice(0, MAX_LINE).trim().replace(command, ''))
    if (title !== '') return title
  }
  return ''
}

function sentence(line: string): string {
  const plain = line
    .replace(marks, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(\*\*|__|~~|`)(\S|\S.*?\S)\1/g, '$2')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const [first = plain] = /^.+?[.!?](?=\s+\p{Lu}|$)/u.exec(plain) ?? []
  const characters = [...first.replace(/\.$/, '')]
  if (characters.length <= MAX_CHARACTERS) return characters.join('')
  const beginning = characters.slice(0, MAX_CHARACTERS - 1).join('')
  return `${beginning.replace(/(?<=.{30})\s\S*$/u, '').trimEnd()}…`
}
