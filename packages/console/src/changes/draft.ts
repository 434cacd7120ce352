import type { Review, Session } from '@berth/client'
import { codeSpan, counted } from '../ui/format.ts'

/** Returns a title and a text for a pull request, from the whole review and not from the last message alone. */
export function draftOf(
  session: Pick<Session, 'title' | 'sessionUrl'>,
  review: Pick<Review, 'files' | 'additions' | 'deletions'>,
) {
  const listed = review.files.slice(0, 30).map(({ path, status, additions, deletions }) => {
    return `- ${codeSpan(path.replaceAll(/\p{Cc}/gu, ''))} ${status}, +${additions} −${deletions}`
  })
  const more = review.files.length - listed.length
  const body = [
    session.title,
    '',
    `${counted(review.files.length, 'file')}, +${review.additions} −${review.deletions}:`,
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    `From ${session.sessionUrl}`,
  ]
  return { title: session.title.split('\n')[0]?.trim() ?? '', body: body.join('\n') }
}
