import { type FoldedText, foldLineEnds, foldLoosely, isBoundary } from './folded-text.ts'
import { nearestText } from './nearest-text.ts'

/** One replacement, as the model asks for it. */
export interface TextEdit {
  readonly oldText: string
  readonly newText: string
}

/** Longest text that is matched loosely: it takes several times the text's memory. */
const MAX_LOOSE = 4 * 1024 * 1024

/** A part of the text and its replacement. */
interface Replacement {
  /** The whole match, of which only a part may be replaced. */
  readonly matchStart: number
  readonly matchEnd: number
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Returns the text with each edit's old text replaced. Only characters in which the old and the new text differ are
 * replaced, so context that an edit repeats keeps its line ends, and its quotes and spaces if it was matched loosely.
 * @param loosely whether text may be matched that differs in kinds of quotes, dashes and spaces
 * @throws Error if an old text is empty, missing or not unique, if edits overlap, or if nothing changes
 */
export function editText(text: string, edits: readonly TextEdit[], loosely: boolean): string {
  const exact = foldLineEnds(text)
  let loose: FoldedText | null | undefined
  const replacements = edits.map((edit, index) => {
    const which = edits.length === 1 ? 'oldText' : `edits[${index}].oldText`
    if (edit.oldText === '') throw new Error(`${which} is empty.`)
    const found = locate(text, exact, edit, foldLineEnds, which)
    if (found !== null) return found
    loose ??= loosely && text.length <= MAX_LOOSE ? foldLoosely(text) : null
    const similar = loose === null ? null : locate(text, loose, edit, foldLoosely, which)
    if (similar === null)
      throw new Error(
        `${which} is not in the file. It must match exactly, with all white space and line breaks.${loosely ? nearestText(text, edit.oldText) : ''}`,
      )
    return similar
  })
  const sorted = replacements.toSorted((one, other) => one.matchStart - other.matchStart)
  let result = ''
  let end = 0
  let matched = 0
  for (const { matchStart, matchEnd, ...replaced } of sorted) {
    if (matchStart < matched) throw new Error('Two edits overlap. Make one edit of them, or leave out what they share.')
    result += text.slice(end, replaced.start) + replaced.text
    end = replaced.end
    matched = matchEnd
  }
  result += text.slice(end)
  if (result === text) throw new Error('The edit changes nothing: the old and the new text are the same.')
  return result
}

function locate(
  text: string,
  folded: FoldedText,
  edit: TextEdit,
  fold: (text: string) => FoldedText,
  which: string,
): Replacement | null {
  const oldText = edit.oldText.replaceAll(/\r\n?/g, '\n')
  const newText = edit.newText.replaceAll(/\r\n?/g, '\n')
  const sought = fold(oldText)
  const length = sought.text.length
  const matches = matchesOf(folded, sought.text)
  const [at] = matches
  if (at === undefined) return null
  if (matches.length > 1)
    throw new Error(`${which} is in the file more than once. Add lines around it that make it unique.`)
  const prefix = commonPrefix(oldText, newText)
  const suffix = commonSuffix(oldText.slice(prefix), newText.slice(prefix))
  let first = unitsUntil(sought, prefix)
  let last = unitsUntil(sought, oldText.length - suffix)
  let inserted = newText.slice(prefix, newText.length - suffix)
  if (!isBoundary(folded, at + first) || !isBoundary(folded, at + last)) {
    first = 0
    last = length
    inserted = newText
  }
  const before = first > 0 ? folded.ends(at + first - 1) : folded.starts(at)
  const start = first < last ? folded.starts(at + first) : before
  const end = first < last ? folded.ends(at + last - 1) : before
  return {
    matchStart: folded.starts(at),
    matchEnd: folded.ends(at + length - 1),
    start,
    end,
    text: withLineEnds(inserted, text, start, end),
  }
}

function matchesOf(folded: FoldedText, sought: string): number[] {
  const matches: number[] = []
  if (sought === '') return matches
  for (let at = folded.text.indexOf(sought); at !== -1 && matches.length < 2; at = folded.text.indexOf(sought, at + 1))
    if (isBoundary(folded, at) && isBoundary(folded, at + sought.length)) matches.push(at)
  return matches
}

/** Gives each inserted line the line end of the line that it replaces, and further ones that of the line edited. */
function withLineEnds(inserted: string, text: string, start: number, end: number): string {
  if (!inserted.includes('\n')) return inserted
  const replaced = text.slice(start, end).match(/\r\n?|\n/g) ?? []
  const before = text.slice(0, start).match(/(\r\n?|\n)([^\r\n]*)$/)
  const after = text.slice(end).match(/\r\n?|\n/)?.[0]
  const edited = before?.[2] === '' ? before[1] : (after ?? before?.[1])
  const further = replaced.at(-1) ?? edited ?? '\n'
  let line = 0
  return inserted.replaceAll('\n', () => replaced[line++] ?? further)
}

function unitsUntil(folded: FoldedText, offset: number): number {
  let unit = folded.text.length
  while (unit > 0 && folded.ends(unit - 1) > offset) unit -= 1
  return unit
}

function commonPrefix(one: string, other: string): number {
  let length = 0
  while (length < one.length && length < other.length && one[length] === other[length]) length += 1
  return /[\ud800-\udbff]/.test(one.charAt(length - 1)) ? length - 1 : length
}

function commonSuffix(one: string, other: string): number {
  let length = 0
  while (length < one.length && length < other.length && one.at(-1 - length) === other.at(-1 - length)) length += 1
  return /[\udc00-\udfff]/.test(one.charAt(one.length - length)) ? length - 1 : length
}
