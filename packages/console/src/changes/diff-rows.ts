import type { ReviewFile } from '@berth/client'
import { type LineComment, type PlacedComment, placeComment } from './line-comments.ts'
import type { DiffLine, FilePatch, Hunk } from './patch.ts'
import { isLine, type Signal, shownLines } from './signal-lines.ts'

/** A range of line numbers after the change, both ends included; the end is open at the end of a file. */
export interface LineRange {
  readonly from: number
  readonly to: number | null
}

/** One file of a review, with everything that decides how it is drawn. */
export interface DiffFile {
  readonly file: ReviewFile
  /** Its lines; null if they are beyond the part of the patch that is here. */
  readonly patch: FilePatch | null
  /** Every line of the file, once somebody asked for more around a change. */
  readonly whole: FilePatch | null
  readonly revealed: readonly LineRange[]
  readonly folded: boolean
  /** Somebody asked to draw it although it is large. */
  readonly drawn: boolean
  readonly comments: readonly LineComment[]
  /** The signals that its readers must not miss. */
  readonly signals: readonly Signal[]
}

/** One row of the view; `key` stays while the row means the same. */
export type DiffRow = { readonly key: string; readonly at: number } & (
  | { readonly kind: 'file' }
  | { readonly kind: 'load' }
  | { readonly kind: 'large' }
  | { readonly kind: 'end' }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'gap'; readonly range: LineRange; readonly heading: string }
  | { readonly kind: 'line'; readonly line: DiffLine; readonly hunk: Hunk }
  | { readonly kind: 'pair'; readonly left: DiffLine | null; readonly right: DiffLine | null; readonly hunk: Hunk }
  | { readonly kind: 'comment'; readonly placed: PlacedComment }
  | { readonly kind: 'signal'; readonly signal: Signal }
)

/** More lines than this are drawn only when somebody asks for them. */
export const drawnLines = 20_000

/** Returns the rows of all files, one after the other. */
export function rowsOf(files: readonly DiffFile[], split: boolean): readonly DiffRow[] {
  const rows: DiffRow[] = []
  files.forEach((file, at) => {
    rows.push({ kind: 'file', key: `${at}`, at })
    if (!file.folded) pushFile(rows, file, at, split)
    rows.push({ kind: 'end', key: `${at}-end`, at })
  })
  return rows
}

function pushFile(
  rows: DiffRow[],
  { file, patch, whole, revealed, drawn, comments, signals }: DiffFile,
  at: number,
  split: boolean,
) {
  const source = whole ?? patch
  if (source === null) return void rows.push({ kind: 'load', key: `${at}-load`, at })
  for (const note of notesOf(file, source)) rows.push({ kind: 'note', key: `${at}-${note}`, at, text: note })
  const lines = source.hunks.flatMap(hunk => hunk.lines)
  if (!drawn && lines.length > drawnLines) return void rows.push({ kind: 'large', key: `${at}-large`, at })
  const placed = comments.map(comment => placeComment(comment, lines))
  for (const comment of placed.filter(({ line }) => line === null))
    rows.push({ kind: 'comment', key: comment.comment.id, at, placed: comment })
  // A file with one side needs one column.
  const columns = split && file.status !== 'added' && file.status !== 'deleted'
  const marked = signals.flatMap(signal => shownLines(signal).map(line => ({ signal, line })))
  const withNotes = (key: string, row: DiffRow, shown: readonly (DiffLine | null)[]) => {
    rows.push(row)
    if (marked.length > 0) {
      const named = marked.filter(({ line }) => shown.some(each => isLine(line, each)))
      for (const signal of new Set(named.map(each => each.signal))) {
        rows.push({ kind: 'signal', key: `${key}-${signal.kind}`, at, signal })
      }
    }
    for (const each of placed) {
      if (each.line === null || !shown.includes(each.line)) continue
      rows.push({ kind: 'comment', key: `${key}-${each.comment.id}`, at, placed: each })
    }
  }
  let gaps = 0
  for (const part of partsOf(source, whole !== null, revealed)) {
    if ('range' in part) {
      rows.push({ kind: 'gap', key: `${at}-gap-${gaps++}`, at, ...part })
      continue
    }
    const { hunk } = part
    if (columns) {
      for (const [left, right] of pairLines(part.lines)) {
        const key = `${at}-${left?.before ?? ''}:${right?.after ?? ''}`
        withNotes(key, { kind: 'pair', key, at, left, right, hunk }, [left, right])
      }
    } else {
      for (const line of part.lines) {
        const key = `${at}-${line.before ?? ''}:${line.after ?? ''}`
        withNotes(key, { kind: 'line', key, at, line, hunk }, [line])
      }
    }
  }
}

const modeLabel: Readonly<Record<string, string>> = {
  100644: 'a plain file',
  100755: 'executable',
  120000: 'a symbolic link',
  160000: 'a submodule',
}

/** Returns the changes of a file that no line shows. */
function notesOf(file: ReviewFile, { hunks, modes }: FilePatch): readonly string[] {
  const notes: string[] = []
  const [was = '', is = ''] = modes ?? []
  if (was !== '' && is !== '' && was !== is) notes.push(`The mode changed from ${modeWord(was)} to ${modeWord(is)}.`)
  else if (was === '' && is !== '' && is !== '100644') notes.push(`The new file is ${modeWord(is)}.`)
  if (file.binary) notes.push('A binary file.')
  else if (hunks.length === 0 && file.status === 'renamed') notes.push('Only its name changed.')
  else if (hunks.length === 0 && notes.length === 0) notes.push('The file is empty.')
  return notes
}

/** Returns words for a mode of git. */
export const modeWord = (mode: string): string => `${modeLabel[mode] ?? 'another kind'} (${mode})`

type Part =
  | { readonly hunk: Hunk; readonly lines: readonly DiffLine[] }
  | { readonly range: LineRange; readonly heading: string }

const near = 3

/** Splits a file into shown hunks and the gaps between them. */
function partsOf({ hunks }: FilePatch, isWhole: boolean, revealed: readonly LineRange[]): readonly Part[] {
  if (isWhole) return hunks.flatMap(hunk => shownParts(hunk, revealed))
  const parts: Part[] = []
  let next = 1
  for (const hunk of hunks) {
    const first = hunk.lines.find(({ after }) => after !== null)?.after ?? next
    if (first > next) parts.push({ range: { from: next, to: first - 1 }, heading: hunk.heading })
    parts.push({ hunk, lines: hunk.lines })
    next = (hunk.lines.findLast(({ after }) => after !== null)?.after ?? first - 1) + 1
  }
  const last = hunks.at(-1)?.lines.slice(-near) ?? []
  // Git shows three lines behind a change, unless the file ends before.
  if (last.length === near && last.every(({ kind }) => kind === 'context'))
    parts.push({ range: { from: next, to: null }, heading: '' })
  return parts
}

/** Splits the one hunk of a whole file. */
function shownParts(hunk: Hunk, revealed: readonly LineRange[]): readonly Part[] {
  const { lines } = hunk
  const shown = new Uint8Array(lines.length)
  lines.forEach((line, at) => {
    if (line.kind !== 'context') shown.fill(1, Math.max(0, at - near), at + near + 1)
    else if (revealed.some(({ from, to }) => (line.after ?? 0) >= from && (line.after ?? 0) <= (to ?? Infinity)))
      shown[at] = 1
  })
  const parts: Part[] = []
  for (let at = 0; at < lines.length; ) {
    let end = at
    while (end < lines.length && shown[end] === shown[at]) end++
    const part = lines.slice(at, end)
    if (shown[at] === 1) parts.push({ hunk, lines: part })
    else parts.push({ range: { from: part[0]?.after ?? 1, to: part.at(-1)?.after ?? 1 }, heading: '' })
    at = end
  }
  return parts
}

/** Puts removed lines beside the added ones that stand in their place. */
export function pairLines(
  lines: readonly DiffLine[],
): readonly (readonly [left: DiffLine | null, right: DiffLine | null])[] {
  const pairs: (readonly [DiffLine | null, DiffLine | null])[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]
    if (line?.kind === 'context') {
      pairs.push([line, line])
      at++
      continue
    }
    const removed: DiffLine[] = []
    const added: DiffLine[] = []
    for (; at < lines.length && lines[at]?.kind !== 'context'; at++) {
      const changed = lines[at]
      if (changed?.kind === 'removed') removed.push(changed)
      else if (changed !== undefined) added.push(changed)
    }
    for (let row = 0; row < Math.max(removed.length, added.length); row++)
      pairs.push([removed[row] ?? null, added[row] ?? null])
  }
  return pairs
}
