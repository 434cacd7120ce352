import type { Review, Session } from '@berth/client'
import type { Row } from '@berth/client/transcript'
import { beginningOf, codeSpan, counted } from '../ui/format.ts'

/** Longest part of the agent's words in a draft: a page of text. */
const saidCharacters = 6_000

/** Returns the agent's last message in a transcript, which sums the work up; '' if there is none. */
export const lastWords = (rows: readonly Row[]): string =>
  rows
    .filter(row => row.kind === 'reply')
    .findLast(({ text }) => text.trim() !== '')
    ?.text.trim() ?? ''

/**
 * Returns a title and a text for a pull request: what the agent said at the end, and every file of the review.
 * @param said the agent's last message
 */
export function draftOf(
  session: Pick<Session, 'title' | 'sessionUrl'>,
  review: Pick<Review, 'files' | 'additions' | 'deletions'>,
  said: string,
) {
  const listed = review.files.slice(0, 30).map(({ path, status, additions, deletions }) => {
    return `- ${codeSpan(path.replaceAll(/\p{Cc}/gu, ''))} ${status}, +${additions} −${deletions}`
  })
  const more = review.files.length - listed.length
  const words = beginningOf(said, saidCharacters)
  const body = [
    ...(words === '' ? [] : [words === said ? words : `${words}…`, '']),
    `${counted(review.files.length, 'file')}, +${review.additions} −${review.deletions}:`,
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    `From ${session.sessionUrl}`,
  ]
  return { title: session.title.split('\n')[0]?.trim() ?? '', body: body.join('\n') }
}
