import { basename, dirname, join } from 'node:path'
import { type Costs, everyGate, isLong } from './tiers.ts'

/** A change under test, as git tells it. */
export interface Change {
  /** Paths of changed files. */
  readonly paths: ReadonlySet<string>
  /** The messages of its commits, which may name test files. */
  readonly messages: string
}

/** What a selection follows from. */
export interface Ground {
  /** Source of each test file, by path from the root. */
  readonly sources: ReadonlyMap<string, string>
  readonly costs: Costs
  readonly change: Change
  /** Count of commits on the branch; which eighth of the long files runs follows from it. */
  readonly commits: number
}

/** A test file that runs, and why. */
export interface Selected {
  readonly file: string
  readonly why: string
  readonly seconds: number
}

/** Returns the files of a gate. A change only ever adds files. */
export function selectGate(ground: Ground): readonly Selected[] {
  const eighth = eighthOf(ground)
  return select(ground, (file, source, seconds) => {
    if (!isLong(file, seconds, source)) return 'gate'
    if (everyGate[file] !== undefined) return everyGate[file]
    return whyTouched(file, source, ground.change) ?? (eighth.has(file) ? 'this commit’s eighth' : null)
  })
}

/** Returns every file, or the long ones whose path has one of the words. */
export function selectAll(ground: Ground, patterns: readonly string[] = []): readonly Selected[] {
  return select(ground, (file, source, seconds) => {
    const long = isLong(file, seconds, source)
    if (patterns.length > 0) return long && patterns.some(pattern => file.includes(pattern)) ? 'named' : null
    return long ? 'long' : 'gate'
  })
}

function select(
  { sources, costs }: Ground,
  whyOf: (file: string, source: string, seconds: number) => string | null,
): readonly Selected[] {
  return [...sources].flatMap(([file, source]) => {
    const seconds = costs[file] ?? 0
    const why = whyOf(file, source, seconds)
    return why === null ? [] : [{ file, why, seconds }]
  })
}

/** Says how a change touches or names a long file: itself, an import of it, or a folder of sources that it is named for. */
function whyTouched(file: string, source: string, { paths, messages }: Change): string | null {
  if (paths.has(file)) return 'changed'
  if (messages.includes(basename(file))) return 'named by a commit'
  for (const path of importsOf(file, source)) if (paths.has(path)) return `imports ${path}`
  for (const path of paths) {
    const subject = subjectOf(path)
    if (subject !== null && basename(file).includes(subject)) return `named for the folder of ${path}`
  }
  return null
}

/** Returns the subject of a source: the name of its folder, in the singular; null for tests, and for folders with short names. */
function subjectOf(path: string): string | null {
  const folder = /^packages\/[^/]+\/src\/(?:.*\/)?([a-z-]{5,})\/[^/]+$/.exec(path)?.[1]
  return folder === undefined || path.endsWith('.test.ts') ? null : folder.replace(/s$/, '')
}

/** Returns the paths, from the root, of the files that a file imports: by a relative path, or of another package. */
function importsOf(file: string, source: string): readonly string[] {
  return [...source.matchAll(/from '(\.[^']+|@berth\/[^']+\.ts)'/g)].map(([, to = '']) => {
    const [, name, rest] = /^@berth\/([^/]+)\/(.+)$/.exec(to) ?? []
    return name === undefined ? join(dirname(file), to) : `packages/${name}/src/${rest}`
  })
}

/**
 * Returns the long files that this count of commits runs: eight commits in a row run each of them once. Each file goes, the
 * costliest first, to the eighth that costs least so far, so that no commit waits longer than another.
 */
export function eighthOf({ sources, costs, commits }: Omit<Ground, 'change'>): ReadonlySet<string> {
  const costOf = (file: string) => costs[file] ?? 0
  const eighths = Array.from({ length: 8 }, () => ({ files: new Set<string>(), seconds: 0 }))
  const long = [...sources].filter(([file, source]) => isLong(file, costOf(file), source) && !everyGate[file])
  for (const [file] of long.sort(([a], [b]) => costOf(b) - costOf(a) || (a < b ? -1 : 1))) {
    const lightest = eighths.reduce((least, each) => (each.seconds < least.seconds ? each : least))
    lightest.files.add(file)
    lightest.seconds += costOf(file)
  }
  return eighths[commits % 8]?.files ?? new Set()
}
