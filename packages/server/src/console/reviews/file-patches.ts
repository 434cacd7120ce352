/**
 * Splits a unified diff of git's into the parts of its files, in the order of the review's list. Git writes a path whose
 * type changed as a deletion and an addition; they are one part here, as they are one file of the review.
 * @param cut whether the diff was cut; the last part, which may be incomplete, is then left out
 */
export function splitPatch(patch: string, cut: boolean): readonly string[] {
  const parts: string[] = []
  let header = ''
  // Every line of a file's content follows a sign, so none of them begins like this. Only a line feed ends a line of
  // git's: with the flag m, a return or U+2028 within the content would end one as well.
  for (const part of patch.split(/(?<=^|\n)(?=diff --git )/)) {
    if (part === '') continue
    const own = part.slice(0, part.indexOf('\n'))
    if (own === header) parts.push(`${parts.pop()}${part}`)
    else parts.push(part)
    header = own
  }
  return cut ? parts.slice(0, -1) : parts
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** Returns the diff of one file, whose hunks have every line, with so many unchanged lines around each change. */
export function withContext(patch: string, context: number): string {
  const lines = patch.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const out: string[] = []
  for (let at = 0; at < lines.length; ) {
    const found = HUNK.exec(lines[at] ?? '')
    if (found === null) {
      out.push(lines[at++] ?? '')
      continue
    }
    const begin = ++at
    while (at < lines.length && /^[ +\-\\]/.test(lines[at] ?? '')) at++
    pushHunks(out, lines.slice(begin, at), { before: Number(found[1]), after: Number(found[2]), context })
  }
  return `${out.join('\n')}\n`
}

interface Start {
  readonly before: number
  readonly after: number
  readonly context: number
}

/** Writes the parts of a hunk that are near a change. */
function pushHunks(out: string[], lines: readonly string[], { before, after, context }: Start): void {
  for (const [begin, end] of near(lines, context)) {
    const hunk = lines.slice(begin, end)
    const skipped = lines.slice(0, begin)
    const [fromBefore, fromAfter] = [before + count(skipped, '-'), after + count(skipped, '+')]
    out.push(
      `@@ -${range(fromBefore, count(hunk, '-'))} +${range(fromAfter, count(hunk, '+'))} @@${heading(lines, begin)}`,
      ...hunk,
    )
  }
}

/** Yields the ranges of lines that lie within `context` lines of a change; ranges that touch are one. */
function near(lines: readonly string[], context: number): readonly (readonly [begin: number, end: number])[] {
  const ranges: [number, number][] = []
  lines.forEach((line, at) => {
    if (line.startsWith(' ') || line.startsWith(NO_NEWLINE)) return
    const [begin, end] = [behindNote(lines, at - context), behindNote(lines, at + context + 1)]
    const last = ranges.at(-1)
    if (last !== undefined && begin <= last[1]) last[1] = end
    else ranges.push([begin, end])
  })
  return ranges
}

/** `\\ No newline at end of file`, which belongs to the line above it. */
const NO_NEWLINE = '\\'

/** Moves the end of a range behind the note on its last line. */
function behindNote(lines: readonly string[], at: number): number {
  const within = Math.min(lines.length, Math.max(0, at))
  return lines[within]?.startsWith(NO_NEWLINE) === true ? within + 1 : within
}

/** Counts the lines of one side. */
const count = (lines: readonly string[], sign: '+' | '-'): number =>
  lines.reduce((sum, line) => sum + (line.startsWith(sign) || line.startsWith(' ') ? 1 : 0), 0)

/** An empty side is named by the line before it; a whole file that is empty begins at 0 already. */
const range = (start: number, size: number): string =>
  size === 1 ? `${start}` : `${size === 0 ? Math.max(0, start - 1) : start},${size}`

/** Returns the nearest line above that begins a definition, by git's own rule for files of no known language. */
function heading(lines: readonly string[], begin: number): string {
  for (let at = begin - 1; at >= 0; at--) {
    const line = lines[at] ?? ''
    if (!line.startsWith('+') && /^[ -][A-Za-z_$]/.test(line)) return ` ${line.slice(1, 81).trimEnd()}`
  }
  return ''
}
