/** A run of text with the look that escape sequences gave it. */
export interface Span {
  readonly text: string
  readonly classes: string
}

const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

const sequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds escape sequences
  /\u001b(?:\[([0-9;:]*)([\u0020-\u002f]*[\u0040-\u007e])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[\u0020-\u002f]*[\u0030-\u007e])/g

/**
 * Splits a tool's output into spans. Of all escape sequences only colours and weights count; links, titles, clipboard
 * and cursor sequences are dropped. A carriage return begins its line again, as progress bars mean it.
 */
export function parseAnsi(text: string): readonly Span[] {
  const spans: Span[] = []
  let classes: ReadonlySet<string> = new Set()
  let at = 0
  const push = (part: string) => {
    if (part !== '') spans.push({ text: part, classes: [...classes].join(' ') })
  }
  const overwritten = text.replace(/\r\n/g, '\n').split('\n').map(lastWritten).join('\n')
  for (const match of overwritten.matchAll(sequences)) {
    push(overwritten.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') classes = restyle(classes, (match[1] ?? '').split(/[;:]/).map(Number))
  }
  push(overwritten.slice(at))
  return spans
}

/** Returns the visible text of a line that was begun again; a return at its end begins nothing. */
const lastWritten = (line: string): string => line.slice(line.slice(0, -1).lastIndexOf('\r') + 1)

function restyle(before: ReadonlySet<string>, codes: readonly number[]): ReadonlySet<string> {
  const classes = new Set(before)
  const colour = (name: string | null) => {
    for (const one of classes) if (one.startsWith('ansi-')) classes.delete(one)
    if (name !== null) classes.add(`ansi-${name}`)
  }
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    if (code === 0) classes.clear()
    else if (code === 1) classes.add('font-semibold')
    else if (code === 2) classes.add('opacity-80')
    else if (code === 3) classes.add('italic')
    else if (code === 4) classes.add('underline')
    else if (code === 22) for (const weight of ['font-semibold', 'opacity-80']) classes.delete(weight)
    else if (code === 23) classes.delete('italic')
    else if (code === 24) classes.delete('underline')
    else if (code >= 30 && code <= 37) colour(colours[code - 30] ?? null)
    else if (code >= 90 && code <= 97) colour(colours[code - 90] ?? null)
    else if (code === 39) colour(null)
    // 256 and true colours would need a palette of their own on both grounds; their arguments are skipped.
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4
  }
  return classes
}
