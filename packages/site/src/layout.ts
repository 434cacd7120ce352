import type { Entry, Part } from './contents.ts'
import { linkBetween, placeOf } from './places.ts'
import { plain } from './search-sections.ts'

/** Names of the site's own files, each with a hash of its content. */
export interface Assets {
  readonly style: string
  readonly theme: string
  readonly script: string
  readonly icon: string
}

export interface Shown {
  /** Path below the repository's root. */
  readonly path: string
  readonly title: string
  readonly html: string
}

const sun =
  '<svg aria-hidden="true" viewBox="0 0 24 24"><circle cx="12" cy="12" r="4"/><path d="M12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4"/></svg>'

/**
 * Returns the document of a page. It holds no inline script or style, so the strictest policy lets it through.
 * @param base of every link, for a page that is shown at any address; by default links are relative
 */
export function renderPage(
  { path, title, html }: Shown,
  contents: readonly Part[],
  assets: Assets,
  base?: string,
): string {
  const current = placeOf(path)
  const to = (place: string) => escaped(base === undefined ? linkBetween(current, place) : `${base}/${place}`)
  const wholeTitle = path === 'docs/README.md' ? 'Berth: documentation' : `${title} · Berth`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(wholeTitle)}</title>
<link rel="icon" href="${to(assets.icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${to(assets.style)}">
<script src="${to(assets.theme)}"></script>
<script src="${to(assets.script)}" defer></script>
</head>
<body data-root="${to('') === '' ? '.' : to('').replace(/\/$/, '')}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="${to('index.html')}"><img src="${to(assets.icon)}" alt="" width="24" height="24">Berth <span>documentation</span></a>
<form role="search" action="${to('index.html')}" hidden>
<input type="search" name="q" placeholder="Search" aria-label="Search the documentation" aria-controls="found" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
<div id="found" hidden></div><p class="unseen" role="status"></p>
</form>
<button type="button" class="theme" hidden>${sun}<span class="unseen">Change the colours</span></button>
</header>
<div class="columns">
<nav class="contents" aria-label="Contents">
<details open><summary>Contents</summary>
<ul class="elsewhere"><li><a href="${to('../sessions')}">Console</a></li><li><a href="${to('../v1/docs')}">API reference</a></li></ul>
${contents.map(part => renderPart(part, path, to)).join('\n')}
</details>
</nav>
<main id="content" tabindex="-1">
<article>
${html}
</article>
${renderNeighbours(path, contents, to)}
</main>
${renderHeadings(html)}
</div>
</body>
</html>
`
}

function renderPart({ title, entries }: Part, path: string, to: (place: string) => string): string {
  const items = entries.map(entry => {
    const current = entry.path === path ? ' aria-current="page"' : ''
    return `<li><a href="${to(placeOf(entry.path))}"${current}>${escaped(entry.title)}</a></li>`
  })
  return `<h2>${escaped(title)}</h2>\n<ul>${items.join('')}</ul>`
}

function renderNeighbours(path: string, contents: readonly Part[], to: (place: string) => string): string {
  const entries = contents.flatMap(part => part.entries)
  const at = entries.findIndex(entry => entry.path === path)
  if (at < 0) return ''
  const link = (entry: Entry | undefined, name: string, rel: string) =>
    entry === undefined
      ? ''
      : `<a rel="${rel}" href="${to(placeOf(entry.path))}"><small>${name}</small>${escaped(entry.title)}</a>`
  const links = link(entries[at - 1], 'Previous', 'prev') + link(entries[at + 1], 'Next', 'next')
  return `<nav class="neighbours" aria-label="Neighbouring pages">${links}</nav>`
}

/** The list of a page's headings; a page of one section needs none. */
function renderHeadings(html: string): string {
  const headings = [...html.matchAll(/<h([23]) id="([^"]*)">([\s\S]*?)<\/h\1>/g)]
  const shown = headings.length > 40 ? headings.filter(([, level]) => level === '2') : headings
  if (shown.length < 2) return '<div></div>'
  const items = shown.map(
    ([, level, anchor, text = '']) =>
      `<li class="level-${level}"><a href="#${anchor}">${escaped(plain(text))}</a></li>`,
  )
  return `<nav class="headings" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`
}

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
