import { beginningOf, codeSpan } from '../ui/format.ts'
import type { DiffLine } from './patch.ts'

/** A comment on one line, kept until it is sent. */
export interface LineComment {
  readonly id: string
  readonly path: string
  /** `before` is the side of removed lines. */
  readonly side: 'before' | 'after'
  readonly line: number
  /** The line's text when the comment was made. */
  readonly quote: string
  readonly body: string
}

/** A comment, and the line that it is about now; null if that line is gone or not shown. */
export interface PlacedComment {
  readonly comment: LineComment
  readonly line: DiffLine | null
  /** True if the line has another number now. */
  readonly moved: boolean
  /** True if the line is gone, and not only out of sight. */
  readonly gone: boolean
}

/**
 * Finds the line of a comment again: the same text at the same number, else the nearest line with the same text.
 * @param all whether these are all lines that the file has
 */
export function placeComment(comment: LineComment, lines: readonly DiffLine[], all = false): PlacedComment {
  let found: DiffLine | null = null
  let distance = Number.POSITIVE_INFINITY
  for (const line of lines) {
    const number = line[comment.side]
    if (number === null || quoteOf(line.text) !== comment.quote) continue
    const away = Math.abs(number - comment.line)
    if (away < distance) [found, distance] = [line, away]
  }
  return { comment, line: found, moved: found !== null && distance > 0, gone: all && found === null }
}

/** Returns the part of a line that a comment keeps; a line may have millions of characters. */
export const quoteOf = (text: string): string => beginningOf(text, 1_000)

/** Longest quotation of a line in a message. */
const quoted = 300

/** Writes the comments as one message to the agent, which says of each where it belongs. */
export function messageOf(placed: readonly PlacedComment[], revision: string): string {
  const parts = placed.map(({ comment, line, moved, gone }, at) => {
    const number = line?.[comment.side] ?? comment.line
    const state = gone ? ', which is no longer among the changes' : moved ? `, which was line ${comment.line}` : ''
    const side = comment.side === 'before' ? 'removed line' : 'line'
    const cut = beginningOf(comment.quote, quoted)
    const text = cut === comment.quote ? cut : `${cut}…`
    return `${at + 1}. ${codeSpan(comment.path)}, ${side} ${number}${state}:\n> ${text}\n\n${comment.body.trim()}`
  })
  return `Comments on your changes (revision ${revision.slice(0, 12)}):\n\n${parts.join('\n\n')}`
}
