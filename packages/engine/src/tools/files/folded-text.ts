/** A text made easier to match, with the place in the source that each of its units stands for. */
export interface FoldedText {
  readonly text: string
  /** Offset in the source of the character that a unit comes from, and of that character's end. */
  readonly starts: (unit: number) => number
  readonly ends: (unit: number) => number
}

const spaces = /^[\u00a0\u2002-\u200a\u202f\u205f\u3000]$/u
const punctuation: readonly (readonly [RegExp, string])[] = [
  [/[\u2018-\u201b]/g, "'"],
  [/[\u201c-\u201f]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, '-'],
]

/** Returns a text with all its line ends as LF. */
export function foldLineEnds(source: string): FoldedText {
  if (!source.includes('\r')) return { text: source, starts: unit => unit, ends: unit => unit + 1 }
  return fold(source, character => character)
}

/**
 * Returns a text in which characters that models mix up are the same: compatible forms, quotes, dashes and spaces.
 * White space before a line end is left out.
 */
export function foldLoosely(source: string): FoldedText {
  return fold(source, looseForm, true)
}

/** Returns whether no character of the source is cut between two units. */
export function isBoundary(folded: FoldedText, unit: number): boolean {
  return unit <= 0 || unit >= folded.text.length || folded.starts(unit) !== folded.starts(unit - 1)
}

function fold(source: string, form: (character: string) => string, trimLines = false): FoldedText {
  const units: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  let solid = 0
  for (const { 0: character, index } of source.matchAll(/\r\n|[\s\S]/gu)) {
    const folded = character === '\r\n' || character === '\r' ? '\n' : form(character)
    if (trimLines && folded === '\n') units.length = starts.length = ends.length = solid
    const whole = folded === character
    for (let unit = 0; unit < folded.length; unit += 1) {
      units.push(folded.charAt(unit))
      starts.push(whole ? index + unit : index)
      ends.push(whole ? index + unit + 1 : index + character.length)
    }
    if (folded === '\n' || folded.trim() !== '') solid = units.length
  }
  return {
    text: units.join(''),
    starts: unit => starts[unit] ?? source.length,
    ends: unit => ends[unit] ?? source.length,
  }
}

function looseForm(character: string): string {
  if (character < '\x80') return character
  if (spaces.test(character)) return ' '
  return punctuation.reduce((form, [pattern, plain]) => form.replaceAll(pattern, plain), character.normalize('NFKD'))
}
