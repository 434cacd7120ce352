import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { placeOf, resolveFrom, splitLink } from './places.ts'

/** The files that the site is made from. */
export interface Sources {
  /** Markdown by path below the repository's root. */
  readonly pages: ReadonlyMap<string, string>
  /** Other files that pages link to, or show. */
  readonly files: ReadonlySet<string>
  /** Folders that pages link to, each with the names in it. */
  readonly folders: ReadonlyMap<string, readonly string[]>
}

const link = /\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g
const hidden = new Set(['node_modules', 'dist'])

/**
 * Collects every page below `docs/`, and all that they link to in the repository.
 * @throws if a link leads nowhere; the message names the page
 */
export function collectSources(root: string): Sources {
  const pages = new Map<string, string>()
  const files = new Set<string>()
  const folders = new Map<string, readonly string[]>()
  const waiting = globSync('docs/**/*.md', { cwd: root }).sort()
  const add = (path: string, because: string) => {
    if (pages.has(path) || files.has(path) || folders.has(path)) return
    const absolute = join(root, path)
    if (!existsSync(absolute)) throw new Error(`${because} links to ${path}, which is not there`)
    if (statSync(absolute).isDirectory()) {
      const names = readdirSync(absolute, { withFileTypes: true })
        .filter(({ name }) => !name.startsWith('.') && !hidden.has(name))
        .map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name))
        .sort()
      folders.set(withSlash(path), names)
      for (const name of names) add(`${withSlash(path)}${name}`, path)
    } else if (path.endsWith('.md')) {
      pages.set(path, readFileSync(absolute, 'utf8'))
      for (const target of targetsOf(path, pages.get(path) ?? '')) add(target, path)
    } else files.add(path)
  }
  for (const path of waiting) add(path, 'the site')
  return { pages, files, folders }
}

/** Returns the paths that a page links to, without those in its examples of code. */
function targetsOf(page: string, text: string): string[] {
  return [...withoutCode(text).matchAll(link)].flatMap(([, markdown, html]) => {
    const parts = splitLink(markdown ?? html ?? '')
    return parts === null || parts.path === '' ? [] : [resolveFrom(page, parts.path)]
  })
}

const withoutCode = (text: string): string => text.replace(/^ *```[\s\S]*?^ *```/gm, '').replace(/`[^`\n]*`/g, '')

export const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`)

/** Returns the place on the site of whatever a link of a page leads to. */
export function placeOfTarget({ folders }: Sources, target: string): string {
  return placeOf(folders.has(withSlash(target)) ? withSlash(target) : target)
}
