import { posix } from 'node:path'

/** The folder of the pages; every other file of the repository lies below `repository/` on the site. */
const pages = 'docs/'

/**
 * Returns the path on the site of a file or folder of the repository. Names end in `.html`, `.txt` or an image's suffix, so
 * any server of files knows their types.
 *
 * @param path below the repository's root; a folder ends in a slash
 */
export function placeOf(path: string): string {
  if (path === 'docs/README.md') return 'index.html'
  const below = path.startsWith(pages) ? path.slice(pages.length) : `repository/${path}`
  if (path.endsWith('/')) return `${below}index.html`
  if (path.endsWith('.md')) return `${below.slice(0, -3)}.html`
  return isImage(path) ? below : `${below}.txt`
}

export const isImage = (path: string): boolean => /\.(?:png|svg|jpg|webp)$/.test(path)

/** Returns the path of a link's target below the root. @param from the page that has the link, or a folder with its slash */
export const resolveFrom = (from: string, link: string): string =>
  posix.join(from.endsWith('/') ? from : posix.dirname(from), link)

/** Returns a link from one place of the site to another; relative, so the site works below any path. */
export const linkBetween = (from: string, to: string): string => posix.relative(posix.dirname(from), to)

/** A link apart from its anchor; null if it leads to another site. */
export function splitLink(link: string): { readonly path: string; readonly anchor: string } | null {
  if (/^(?:[a-z]+:|\/\/)/i.test(link)) return null
  const [path = '', anchor] = link.split('#', 2)
  return { path: decodeURI(path), anchor: anchor === undefined ? '' : `#${anchor}` }
}
