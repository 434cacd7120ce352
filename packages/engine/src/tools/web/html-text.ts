/** Elements whose content is no text of the page, and where each ends. */
const unseen = new Map(
  ['script', 'style', 'template', 'svg', 'iframe'].map(name => [name, new RegExp(`</${name}`, 'gi')]),
)
const namesOf = (names: string) => names.split(' ')
const paragraphs = new Set(namesOf('p h1 h2 h3 h4 h5 h6 title pre blockquote table ul ol dl'))
const lines = new Set(
  namesOf('div li tr dt dd br hr section article header footer main aside nav form figure summary option'),
)
const LONGEST_TAG = 8192

/** Names of characters; others stay as they are written. */
const references = new Map(
  [
    ...'amp&lt<gt>quot"apos\'nbsp ndash–mdash—lsquo‘rsquo’ldquo“rdquo”bull•hellip…middot·copy©times×larr←rarr→'.matchAll(
      /([a-z]+)([^a-z])/gu,
    ),
  ].map(([, name = '', character = '']) => [name, character] as const),
)

type Token = { readonly text: string } | { readonly name: string; readonly closes: boolean; readonly tag: string }

/**
 * Returns the text of a page of HTML, with headings, lists, blocks of code and links as in Markdown. Its time grows with
 * the page's length alone, whatever the page holds: pages may be hostile.
 * @param base URL that links are relative to
 */
export function textOfHtml(html: string, base: string): string {
  const out: string[] = []
  let [gap, isVerbatim] = ['', false]
  let link: { readonly at: number; readonly href: string } | null = null
  const put = (text: string) => {
    out.push(out.length === 0 ? '' : gap, text)
    gap = ''
  }
  const mark = (text: string) => {
    put(text)
    gap = ' '
  }
  const endLink = () => {
    if (link === null) return
    const [before = '', ...rest] = out.splice(link.at)
    const text = rest.join('').replaceAll(/\s+/g, ' ').trim()
    if (text !== '') out.push(before, `[${text}](${link.href})`)
    link = null
  }
  for (const token of tokensOf(html)) {
    if ('text' in token) {
      const decodedText = decoded(token.text)
      if (isVerbatim) {
        put(decodedText)
        continue
      }
      const text = decodedText.replaceAll(/[ \t\r\n\f]+/g, ' ')
      if (text.startsWith(' ')) gap ||= ' '
      if (text.trim() === '') continue
      put(text.trim())
      if (text.endsWith(' ')) gap = ' '
      continue
    }
    const { name, closes, tag } = token
    if (name === 'a' && !isVerbatim) {
      endLink()
      const href = closes ? '#' : decoded(attributeOf(tag, 'href') ?? '#')
      const target = href.startsWith('#') ? null : URL.parse(href, base)
      if (target !== null && /^https?:$/.test(target.protocol)) link = { at: out.length, href: target.href }
    }
    if (name === 'pre' && isVerbatim === closes) {
      endLink()
      if (!closes) gap = '\n\n'
      put(closes ? '\n```' : '```\n')
      isVerbatim = !closes
    }
    if (isVerbatim) continue
    const isMarked = /^(-|#+)$/.test(out.at(-1) ?? '')
    if (!isMarked && paragraphs.has(name)) gap = '\n\n'
    if (!isMarked && lines.has(name) && gap !== '\n\n') gap = '\n'
    if (closes) continue
    if (/^h[1-6]$/.test(name)) mark('#'.repeat(Number(name[1])))
    if (name === 'li') mark('-')
    if (/^t[dh]$/.test(name) && !gap.includes('\n')) gap = ' | '
  }
  endLink()
  return out.join('').trim()
}

function* tokensOf(html: string): Generator<Token, void> {
  const tagName = /<(\/?)([a-z][a-z0-9-]*)/iy
  for (let at = 0; ; ) {
    const open = html.indexOf('<', at)
    if (open === -1) return yield { text: html.slice(at) }
    if (open > at) yield { text: html.slice(at, open) }
    tagName.lastIndex = open
    const [, slash, given = ''] = tagName.exec(html) ?? []
    const isComment = html.startsWith('<!--', open)
    const isTag = slash !== undefined || '!?'.includes(html[open + 1] ?? '.')
    at = isComment ? html.indexOf('-->', open + 4) + 3 : isTag ? endOfTag(html, open) : open + 1
    // A part that does not end is one that was cut.
    if (at === (isComment ? 2 : 0)) return
    if (!isTag) yield { text: '<' }
    if (slash === undefined) continue
    const name = given.toLowerCase()
    yield { name, closes: slash === '/', tag: html.slice(open, at) }
    const end = slash === '' ? unseen.get(name) : undefined
    if (end === undefined) continue
    end.lastIndex = at
    at = end.exec(html)?.index ?? html.length
  }
}

/** Returns where a tag ends; 0 if it does not. A `>` in quotes ends none, unless the tag would be very long. */
function endOfTag(html: string, open: number): number {
  let quote = ''
  for (let at = open; at < Math.min(html.length, open + LONGEST_TAG); at += 1) {
    const character = html[at] ?? ''
    if (quote === '' && character === '>') return at + 1
    if (quote === '' && (character === '"' || character === "'") && html[at - 1] === '=') quote = character
    else if (character === quote) quote = ''
  }
  return html.indexOf('>', open) + 1
}

const attributeOf = (tag: string, name: string): string | undefined => {
  const [, double, single, bare] =
    new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag.slice(0, LONGEST_TAG)) ?? []
  return double ?? single ?? bare
}

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return references.get(name) ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code).toWellFormed()
  })
