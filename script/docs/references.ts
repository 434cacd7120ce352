import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A path or link of a page that leads nowhere. */
export interface Dangling {
  readonly line: number
  readonly reference: string
}

/** Paths of sources are written as imports are: the package, then the path below its `src`. */
const sourcesOf = (root: string) => globSync('packages/*/src', { cwd: root })
const FILE = /^[\w@.-]+(?:\/[\w@.-]+)*\.(?:ts|mts|mjs|sql|md|sh|fast-import)$/
const FOLDER = /^[\w@.-]+(?:\/[\w@.-]+)*\/$/

/**
 * Finds the paths in backticks and the links of a Markdown page that lead nowhere. Code blocks are left out: they show
 * what readers type. A path counts as one if it ends like a source file or with a slash, or begins with a folder of the
 * repository or with the name of a package. A bare file name may be that of any source.
 *
 * @param root the repository
 * @param page path of the page below it
 */
export function danglingReferences(root: string, page: string, text: string): Dangling[] {
  const folders = new Set([...foldersOf(root), ...foldersOf(join(root, 'packages'))])
  const sources = new Set(sourcesOf(root).flatMap(folder => filesBelow(join(root, folder))))
  const isThere = (path: string) =>
    existsSync(join(root, path)) ||
    existsSync(join(root, 'packages', path.replace('@berth/', '').replace('/', '/src/'))) ||
    (!path.includes('/') && sources.has(path))
  const dangling: Dangling[] = []
  for (const [index, line] of withoutCode(text).entries()) {
    for (const [, reference = ''] of line.matchAll(/`([^`\s]+)`/g)) {
      const segments = reference.split('/')
      const named = segments.length > 1 && folders.has(segments[0] ?? '') && /^[\w@./-]+$/.test(reference)
      if ((named || FILE.test(reference) || FOLDER.test(reference)) && !isThere(reference)) {
        dangling.push({ line: index + 1, reference })
      }
    }
    for (const [, reference = ''] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(reference)) continue
      const [path = '', anchor] = reference.split('#', 2)
      const target = path === '' ? text : textOf(join(root, dirname(page), path))
      if (target === null || (anchor !== undefined && !anchorsOf(target).has(anchor))) {
        dangling.push({ line: index + 1, reference })
      }
    }
  }
  return dangling
}

/** Returns the anchors that forges make for a page's headings. */
export function anchorsOf(text: string): Set<string> {
  const headings = withoutCode(text).flatMap(line => /^#{1,6} (.*)$/.exec(line)?.[1] ?? [])
  return new Set(
    headings.map(heading =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** The lines of a page, empty where they belong to a code block. */
function withoutCode(text: string): string[] {
  let code = false
  return text.split('\n').map(line => {
    const fence = /^\s*```/.test(line)
    if (fence) code = !code
    return code || fence ? '' : line
  })
}

/** What a link leads to: the text of a file, nothing of a folder, null if neither is there. */
function textOf(path: string): string | null {
  if (!existsSync(path)) return null
  return statSync(path).isDirectory() ? '' : readFileSync(path, 'utf8')
}

/** Returns the folders in a directory, without the data directory of a service that ran here. */
function foldersOf(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true })
  return entries.flatMap(entry => (entry.isDirectory() && entry.name !== '.berth' ? [entry.name] : []))
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).map(path => basename(path))
}
