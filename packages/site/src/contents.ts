import { resolveFrom } from './places.ts'

/** A line of the list of contents. */
export interface Entry {
  readonly title: string
  /** The page, by path below the repository's root. */
  readonly path: string
}

export interface Part {
  readonly title: string
  readonly entries: readonly Entry[]
}

/** The page whose headings and lists of links are the contents of the site. */
export const contentsPage = 'docs/README.md'

/**
 * Reads the contents: each heading of the second level is a part, each item of a list that begins with a link an entry.
 *
 * @param isFolder tells whether a path is a folder's; its entry gets a slash
 */
export function readContents(text: string, isFolder: (path: string) => boolean): Part[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map(section => ({
      title: section.split('\n', 1)[0]?.trim() ?? '',
      entries: [...section.matchAll(/^- \[([^\]]+)\]\(([^)#]+)\)/gm)].map(([, title = '', link = '']) => {
        const path = resolveFrom(contentsPage, link)
        return { title: title.replaceAll('`', ''), path: isFolder(path) ? `${path}/` : path }
      }),
    }))
    .filter(({ entries }) => entries.length > 0)
}
