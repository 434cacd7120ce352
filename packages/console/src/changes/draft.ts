import { pullRequestDraft, type Review, type Session } from '@berth/client'
import type { Row } from '@berth/client/transcript'
import { beginningOf, codeSpan, counted } from '../ui/format.ts'
import { hiddenParts, printable } from '../ui/printable.ts'

/** Longest part of the agent's words in a draft: a page of text. */
const messageCharacters = 6_000

/** Returns the agent's last message in a transcript, which sums the work up; '' if there is none. */
export const lastMessage = (rows: readonly Row[]): string =>
  rows
    .filter(row => row.kind === 'reply')
    .findLast(({ text }) => text.trim() !== '')
    ?.text.trim() ?? ''

/**
 * Returns a title and a text for a pull request: what the agent said at the end, the Session's title unless that begins with
 * one, and every file of the review.
 * @param message the agent's last message
 */
export function draftOf(
  session: Pick<Session, 'title' | 'sessionUrl'>,
  review: Pick<Review, 'files' | 'additions' | 'deletions'>,
  message: string,
) {
  const listed = review.files.slice(0, 30).map(({ path, status, additions, deletions }) => {
    return `- ${codeSpan(printable(path.replaceAll(/\p{Cc}/gu, '')))} ${status}, +${additions} −${deletions}`
  })
  const more = review.files.length - listed.length
  const { title, body: text } = pullRequestDraft(message, session.title)
  const shown = printable(text)
  const beginning = beginningOf(shown, messageCharacters)
  const body = [
    ...(beginning === '' ? [] : [withClosedFence(beginning === shown ? beginning : `${beginning}…`), '']),
    `${counted(review.files.length, 'file')}, +${review.additions} −${review.deletions}:`,
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    `From ${session.sessionUrl}`,
  ]
  return { title: printable(title), body: body.join('\n') }
}

/** An open block of code would take in the text that follows. */
function withClosedFence(markdown: string): string {
  let open: { readonly indent: string; readonly fence: string } | null = null
  for (const line of markdown.split('\n')) {
    const [, indent = '', fence = '', rest = ''] = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (fence === '') continue
    if (open !== null) {
      if (fence.startsWith(open.fence) && rest.trim() === '') open = null
    } else if (fence.startsWith('~') || !rest.includes('`')) open = { indent, fence }
  }
  // In an item of a list, a fence that is not indented as much would open another block.
  return open === null ? markdown : `${markdown}\n${open.indent}${open.fence}`
}

/** Returns a warning of characters in a text that its readers would not see; null if there are none. */
export function hiddenNote(text: string): string | null {
  const hidden = hiddenParts(text.replaceAll('\r\n', '\n')).filter(({ isHidden }) => isHidden)
  if (hidden.length === 0) return null
  const kinds = [...new Set(hidden.map(part => part.text))]
  const named = kinds.slice(0, 5).join(' ')
  return `The text has ${counted(hidden.length, 'character')} that nobody sees: ${named}${kinds.length > 5 ? ' …' : ''}`
}
