/** Most lines of the sought text that are compared, and of the file. */
const MAX_SOUGHT = 40
const MAX_LINES = 20_000
/** Least mean likeness of lines that is worth showing. */
const LEAST_LIKENESS = 0.5
const MAX_SHOWN = 2000

/**
 * Returns a sentence that shows the part of a text that is nearest to one that is not in it, so that the next edit can be
 * right; empty if nothing is near.
 */
export function nearestText(text: string, sought: string): string {
  const lines = text.split(/\r\n?|\n/)
  const wanted = sought.replace(/^(?:\s*\n)+|\s+$/g, '').split(/\r\n?|\n/)
  if (lines.length > MAX_LINES || wanted.length > lines.length) return ''
  const known = lines.map(wordsOf)
  const compared = wanted.slice(0, MAX_SOUGHT).map(wordsOf)
  let best = { start: 0, likeness: 0 }
  for (let start = 0; start + wanted.length <= lines.length; start += 1) {
    let sum = 0
    for (const [at, words] of compared.entries()) sum += likenessOf(words, known[start + at] ?? words)
    if (sum > best.likeness * compared.length) best = { start, likeness: sum / compared.length }
  }
  if (best.likeness < LEAST_LIKENESS) return ''
  const shown = lines.slice(best.start, best.start + wanted.length).join('\n')
  const end = best.start + wanted.length
  const place = wanted.length === 1 ? `line ${end}` : `lines ${best.start + 1} to ${end}`
  const cut = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN).toWellFormed()}…` : shown
  return ` The nearest text, ${best.likeness === 1 ? 'which differs only in white space' : 'which differs'}, is at ${place}:\n${cut}`
}

/** The words and signs of a line, without its white space. */
const wordsOf = (line: string): readonly string[] => line.match(/\w+|[^\s\w]/g) ?? []

/** Returns the share of words that two lines have in common; 1 if they differ in white space at most. */
function likenessOf(one: readonly string[], other: readonly string[]): number {
  const most = Math.max(one.length, other.length)
  if (most === 0) return 1
  if (one.length === other.length && one.every((word, at) => word === other[at])) return 1
  const left = [...other]
  let common = 0
  for (const word of one) {
    const at = left.indexOf(word)
    if (at === -1) continue
    left.splice(at, 1)
    common += 1
  }
  // The same words in another order are not the same line.
  return Math.min(common / most, 0.95)
}
