import type { Review } from '@berth/client'
import type { DiffLine } from './patch.ts'

export type Signal = Review['signals'][number]

/** A line of a file, by its number before or after the change. */
export type LineOfFile = Signal['lines'][number]

/** Returns whether a line of a diff is the one that a signal names. */
export const isLine = ({ side, number }: LineOfFile, line: DiffLine | null): boolean =>
  line !== null && line.kind === (side === 'before' ? 'removed' : 'added') && line[side] === number

/** No path of a tree begins with a slash, so a mark of a signal is never one of a file. */
export const markOf = ({ kind, path }: Signal): string => `/signals/${kind}/${path}`

/** Returns the lines at which a signal is shown: of lines that follow each other, the first. */
export const shownLines = ({ lines }: Signal): readonly LineOfFile[] =>
  lines.filter(({ side, number }) => !lines.some(line => line.side === side && line.number === number - 1))
