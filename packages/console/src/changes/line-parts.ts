import { diffWordsWithSpace } from 'diff'

/** A piece of a line that looks the same throughout. */
export interface LinePart {
  readonly text: string
  /** Class of its colour, or none. */
  readonly className: string
  /** True if this part of the line has changed. */
  readonly changed: boolean
}

/** A coloured range of a line. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly className: string
}

/** More characters of a line than this are shown only when asked for: drawing four million takes seconds. */
export const shownCharacters = 2_000

/** Splits a line where its colour or its emphasis changes. */
export function partsOfLine(text: string, spans: readonly Span[], changes: readonly Span[]): readonly LinePart[] {
  const cuts = new Set([0, text.length])
  for (const { from, to } of [...spans, ...changes]) cuts.add(from).add(to)
  const places = [...cuts].filter(at => at <= text.length).toSorted((a, b) => a - b)
  return places.slice(0, -1).map((from, at) => {
    const covers = (span: Span) => span.from <= from && span.to > from
    return {
      text: text.slice(from, places[at + 1]),
      className: spans.find(covers)?.className ?? '',
      changed: changes.some(covers),
    }
  })
}

/** Longest lines whose words are compared. */
const comparedCharacters = 400

/**
 * Returns the ranges in which two lines differ, for each of them; none if they have little in common, since emphasis on
 * everything says nothing.
 */
export function changedWithin(before: string, after: string): readonly [readonly Span[], readonly Span[]] {
  if (Math.max(before.length, after.length) > comparedCharacters) return [[], []]
  const [left, right]: [Span[], Span[]] = [[], []]
  let [atLeft, atRight, same] = [0, 0, 0]
  for (const { value, added, removed } of diffWordsWithSpace(before, after)) {
    if (removed) {
      left.push({ from: atLeft, to: atLeft + value.length, className: '' })
      atLeft += value.length
    } else if (added) {
      right.push({ from: atRight, to: atRight + value.length, className: '' })
      atRight += value.length
    } else {
      atLeft += value.length
      atRight += value.length
      same += value.trim().length
    }
  }
  const most = Math.max(before.trim().length, after.trim().length)
  return same * 3 < most ? [[], []] : [left, right]
}
