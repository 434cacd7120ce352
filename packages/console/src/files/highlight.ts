import { type Language, StreamLanguage } from '@codemirror/language'
import { classHighlighter, highlightTree } from '@lezer/highlight'
import { loaderOf } from '../ui/languages.ts'

/** A piece of a line in one colour; '' for plain text. */
export interface Piece {
  readonly text: string
  readonly className: string
}

/** Returns the pieces of every line, or null if the language of the file is not known. */
export async function highlight(name: string, lines: readonly string[]): Promise<readonly (readonly Piece[])[] | null> {
  const load = loaderOf(name)
  if (load === undefined) return null
  const language: Language = StreamLanguage.define(await load())
  const text = lines.join('\n')
  const pieces: Piece[][] = lines.map(() => [])
  let line = 0
  let lineStart = 0
  let at = 0
  /** Adds the text up to an end, which may lie some lines below. */
  const add = (end: number, className: string) => {
    while (at < end) {
      const lineEnd = lineStart + (lines[line]?.length ?? 0)
      const to = Math.min(end, lineEnd)
      if (to > at) pieces[line]?.push({ text: text.slice(at, to), className })
      at = to
      if (at === lineEnd && end > lineEnd) {
        line += 1
        lineStart = lineEnd + 1
        at = lineStart
      }
    }
  }
  highlightTree(language.parser.parse(text), classHighlighter, (from, to, className) => {
    add(from, '')
    add(to, className)
  })
  add(text.length, '')
  return pieces
}
