import MarkdownIt from 'markdown-it'
import { anchorsOfPage } from './anchors.ts'
import { highlighted } from './highlight.js'
import { linkBetween, placeOf, resolveFrom, splitLink } from './places.ts'
import { placeOfTarget, type Sources } from './sources.ts'

/** Returns the renderer of the repository's pages. */
export function pageRenderer(sources: Sources): (text: string, page: string) => string {
  const markdown = new MarkdownIt({ html: true, highlight: highlighted })
  const { rules } = markdown.renderer
  // A wide table or a long line scrolls by itself, and the keyboard reaches it.
  rules['table_open'] = () => '<div class="wide" tabindex="0"><table>'
  rules['table_close'] = () => '</table></div>'
  const fence = rules.fence
  rules.fence = (...given) =>
    `<div class="code">${fence?.(...given).replace('<pre>', '<pre tabindex="0">') ?? ''}</div>`

  markdown.core.ruler.push('anchors', ({ tokens }) => {
    const anchor = anchorsOfPage()
    for (const [index, token] of tokens.entries()) {
      // A header without words names nothing.
      if (token.type === 'th_open' && tokens[index + 1]?.content === '') {
        for (const cell of [token, tokens[index + 2]]) if (cell !== undefined) cell.tag = 'td'
      }
      if (token.type === 'heading_open') token.attrSet('id', anchor(plainTextOf(tokens[index + 1]?.content ?? '')))
    }
  })
  markdown.core.ruler.push('links', ({ tokens, env }) => {
    const { page } = env as { page: string }
    for (const token of tokens.flatMap(each => [each, ...(each.children ?? [])])) {
      const name = { link_open: 'href', image: 'src' }[token.type]
      if (name !== undefined) token.attrSet(name, linkOnSite(sources, page, String(token.attrGet(name))))
      if (token.type === 'image') token.attrSet('loading', 'lazy')
      if (token.type.startsWith('html')) token.content = htmlOnSite(sources, page, token.content)
    }
  })
  return (text, page) => markdown.render(text, { page })
}

const htmlOnSite = (sources: Sources, page: string, html: string): string =>
  html.replace(/(src|href)="([^"]+)"/g, (_, name, link) => `${name}="${linkOnSite(sources, page, link)}"`)

function linkOnSite(sources: Sources, page: string, link: string): string {
  const parts = splitLink(link)
  if (parts === null || parts.path === '') return link
  const target = placeOfTarget(sources, resolveFrom(page, parts.path))
  return `${linkBetween(placeOf(page), target)}${parts.anchor}`
}

/** A heading without its marks, as forges read it. */
const plainTextOf = (heading: string): string => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
