import type { StreamParser } from '@codemirror/language'
import { StringStream } from '@codemirror/language'
import type { Span } from './line-parts.ts'
import type { DiffLine, Hunk } from './patch.ts'

/** Hunks of more lines, and longer lines, keep the colour of text. */
const colouredLines = 20_000
const colouredCharacters = 1_000

const done = new WeakMap<Hunk, Map<DiffLine, readonly Span[]>>()

/**
 * Returns the coloured ranges of each line of a hunk. The lines before and after the change are read apart, as two files
 * are; a hunk that begins inside of a comment is read wrongly, as everywhere where not the whole file is at hand.
 */
export function coloursOf(hunk: Hunk, parser: StreamParser<unknown>): ReadonlyMap<DiffLine, readonly Span[]> {
  const known = done.get(hunk)
  if (known !== undefined) return known
  const colours = new Map<DiffLine, readonly Span[]>()
  done.set(hunk, colours)
  if (hunk.lines.length > colouredLines) return colours
  read(
    hunk.lines.filter(({ kind }) => kind !== 'added'),
    parser,
    colours,
  )
  read(
    hunk.lines.filter(({ kind }) => kind !== 'removed'),
    parser,
    colours,
  )
  return colours
}

function read(lines: readonly DiffLine[], parser: StreamParser<unknown>, into: Map<DiffLine, readonly Span[]>): void {
  const state = parser.startState?.(2) ?? {}
  for (const line of lines) into.set(line, spansOf(line.text, parser, state))
}

function spansOf(text: string, parser: StreamParser<unknown>, state: unknown): readonly Span[] {
  const spans: Span[] = []
  if (text.length > colouredCharacters) return spans
  if (text === '') parser.blankLine?.(state, 2)
  const stream = new StringStream(text, 2, 2)
  // A parser that does not move is not trusted with another try.
  for (let stuck = 0; !stream.eol() && stuck < 10; ) {
    stream.start = stream.pos
    const style = parser.token(stream, state)
    if (stream.pos === stream.start) stuck++
    else {
      stuck = 0
      const className = style === null ? '' : classOf(style)
      if (className !== '') spans.push({ from: stream.start, to: stream.pos, className })
    }
  }
  return spans
}

/** Colours text that grows: lines are read again from the first on that has changed. */
export class GrowingColours {
  readonly #parser: StreamParser<unknown>
  #read: readonly { readonly text: string; readonly spans: readonly Span[]; readonly after: unknown }[] = []

  constructor(parser: StreamParser<unknown>) {
    this.#parser = parser
  }

  of(lines: readonly string[]): readonly (readonly Span[])[] {
    const changed = lines.findIndex((text, at) => this.#read[at]?.text !== text)
    const read = this.#read.slice(0, changed === -1 ? lines.length : changed)
    for (const text of lines.slice(read.length)) {
      const before = read.at(-1)?.after
      const after = before === undefined ? (this.#parser.startState?.(2) ?? {}) : this.#copy(before)
      read.push({ text, spans: spansOf(text, this.#parser, after), after })
    }
    this.#read = read
    return read.map(({ spans }) => spans)
  }

  /** As the library copies states that a parser does not copy itself. */
  #copy(state: unknown): unknown {
    if (this.#parser.copyState !== undefined) return this.#parser.copyState(state)
    if (typeof state !== 'object' || state === null) return state
    const members = Object.entries(state)
    return Object.fromEntries(members.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]))
  }
}

const styles: readonly (readonly [RegExp, string])[] = [
  [/comment|quote|meta/, 'syntax-comment'],
  [/string|link|url|character|regexp/, 'syntax-string'],
  [/number|atom|bool|null|literal|unit|color/, 'syntax-number'],
  [/keyword|operatorKeyword|modifier|self|tag|processingInstruction/, 'syntax-keyword'],
  [/def|property|attribute|type|className|builtin|standard/, 'syntax-name'],
]

const known = new Map<string, string>()

/** Returns the class for a parser's word for a piece of text. */
function classOf(style: string): string {
  const found = known.get(style) ?? styles.find(([words]) => words.test(style))?.[1] ?? ''
  known.set(style, found)
  return found
}
