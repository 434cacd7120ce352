/** Elements that, left open, would take in whatever follows them. */
const elements =
  /<(\/?)(details|pre|table|div|blockquote|script|style|textarea|sub|sup|ul|ol|li|dl|picture)(?=[\s/>]|$)/gi
const fence = /^([\s>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t>]+)*)(`{3,}|~{3,})(.*)$/

/**
 * Returns Markdown of anybody's so that what is put behind it, after an empty line, is read by itself: blocks of code that
 * do not end are plain text, and elements of HTML are closed. A text that needs none of it stays as it is.
 */
export function closedMarkdown(text: string): string {
  const lines = text.split('\n')
  const plain = hasLooseFence(lines)
    ? lines.map(line => line.replace(fence, (_, before, mark, rest) => `${before}\\${[...mark].join('\\')}${rest}`))
    : lines
  const body = plain.join('\n')
  const closers = [...openElements(body).map(name => `</${name}>`), ...openMarks(body)]
  return closers.length === 0 ? body : `${body.trimEnd()}\n\n${closers.join('')}`
}

/** Returns whether a fence may have no end: each must be followed by its own, at its own place in lists and quotations. */
function hasLooseFence(lines: readonly string[]): boolean {
  let open: { readonly place: string; readonly mark: string } | null = null
  for (const line of lines) {
    const [, before = '', mark = '', rest = ''] = fence.exec(line) ?? []
    if (open === null) {
      // Text behind backticks that has others is inline code.
      if (mark !== '' && !(mark.startsWith('`') && rest.includes('`')))
        open = { place: before.replaceAll(/[^>]/g, ' '), mark }
      continue
    }
    const { place } = open
    const isEnd = mark.startsWith(open.mark) && rest.trim() === '' && before.startsWith(place)
    if (isEnd && /^ {0,3}$/.test(before.slice(place.length))) open = null
    else if (line.trim() !== '' && !line.startsWith(place) && line.trimEnd() !== place.trimEnd()) return true
  }
  return open !== null
}

function openElements(text: string): readonly string[] {
  const open: string[] = []
  for (const [, slash, name = ''] of text.matchAll(elements)) {
    const element = name.toLowerCase()
    const at = open.lastIndexOf(element)
    if (slash === '') open.push(element)
    else if (at >= 0) open.splice(at, 1)
  }
  return open.toReversed()
}

/** Returns a comment with the ends of what no element ends. */
const openMarks = (text: string): readonly string[] =>
  text.lastIndexOf('<?') > text.lastIndexOf('?>') || text.lastIndexOf('<![CDATA[') > text.lastIndexOf(']]>')
    ? ['<!-- ?> ]]> -->']
    : []
