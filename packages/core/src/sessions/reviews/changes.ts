import { PassThrough } from 'node:stream'
import type { ReviewFile } from '@berth/contract'
import type { OwnRepository } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { cutText, storable } from '../log/bounded-text.ts'
import { type Link, setTargets } from './link-targets.ts'
import { type ReviewBounds, ReviewRefused } from './review-place.ts'

/** The differences between two trees. */
export interface Changes {
  readonly files: ReviewFile[]
  readonly additions: number
  readonly deletions: number
  /** A unified diff of at most 1 MiB. */
  readonly patch: string
  readonly patchTruncated: boolean
}

/** Two gits that wait for the trees they compare. */
export interface TreeComparer {
  /**
   * Compares two trees.
   * @throws ReviewRefused if too many files differ
   * @throws GitError
   */
  compare(before: string, after: string): Promise<Changes>
  /** Settles once both gits have ended. */
  readonly ended: Promise<unknown>
}

/**
 * Starts the gits that compare two trees of a repository, within bounds. The repository may lack the trees until then:
 * git looks for objects once it reads their ids, some 20 ms after its start.
 * @param signal ends them, even before they compare
 */
export function startComparing(repository: OwnRepository, bounds: ReviewBounds, signal: AbortSignal): TreeComparer {
  const { gitDir, view } = repository
  const start = (maxBytes: number, ...format: readonly string[]) => {
    const names = new PassThrough().on('error', () => undefined)
    const result = runGit([...comparing(bounds), ...format, '--stdin'], {
      ...{ gitDir, view, signal, bounds: bounds.git, timeoutMs: bounds.timeMs },
      input: names,
      maxOutputBytes: TREES_LINE_BYTES + maxBytes,
      cutsOutput: true,
    })
    result.catch(() => undefined)
    return { names, result }
  }
  // Each git does the other's work as well, but there are two cores, and the patch ends at its bound.
  const list = start(bounds.listBytes, '-z', '--raw', '--numstat')
  const patch = start(bounds.patchBytes + 1, '-p')
  return {
    ended: Promise.allSettled([list.result, patch.result]),
    async compare(before, after) {
      const line = `${before} ${after}\n`
      const difference = async ({ names, result }: ReturnType<typeof start>) => {
        names.end(line)
        return behind(line, (await result).stdout)
      }
      const [listed, patched] = await Promise.all([difference(list), difference(patch)])
      const { links, ...changes } = parseList(listed)
      await setTargets(repository, bounds, links, signal)
      return { ...changes, ...parsePatch(patched, bounds.patchBytes) }
    },
  }
}

/**
 * Returns the unified diff of two trees with every line of each changed file, cut at its bound.
 * @throws GitError
 */
export async function compareWhole(
  { gitDir, view }: OwnRepository,
  bounds: ReviewBounds,
  trees: { readonly before: string; readonly after: string; readonly signal: AbortSignal },
): Promise<Buffer> {
  const { before, after, signal } = trees
  const { stdout } = await runGit([...comparing(bounds), '-p', `--unified=${WHOLE_FILE_LINES}`, before, after], {
    ...{ gitDir, view, signal, bounds: bounds.git, timeoutMs: bounds.timeMs },
    maxOutputBytes: bounds.filesBytes,
    cutsOutput: true,
  })
  return stdout
}

/** More lines than a file that git compares can have. */
const WHOLE_FILE_LINES = 100_000_000

/** The command that compares, alike for every format. */
const comparing = (bounds: ReviewBounds): readonly string[] => [
  ...['-c', `core.bigFileThreshold=${bounds.comparedBytes}`, 'diff-tree', '-r', '-M', '--full-index'],
  ...['--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short', '--ignore-submodules=none'],
]

/** Length of two tree ids, the space between them and the end of the line. */
const TREES_LINE_BYTES = 82

/** Returns the differences: `diff-tree --stdin` repeats the line of the trees before them. */
function behind(line: string, output: Buffer): Buffer {
  if (output.toString('latin1', 0, line.length) !== line) throw new Error('git compared other trees than it was told')
  return output.subarray(line.length)
}

const STATUS: Readonly<Record<string, ReviewFile['status']>> = {
  A: 'added',
  M: 'modified',
  T: 'modified',
  D: 'deleted',
  R: 'renamed',
}

/** Reads `diff-tree -z --raw --numstat`: the changes, then the counts in the same order. */
function parseList(output: Buffer): Pick<Changes, 'files' | 'additions' | 'deletions'> & { links: readonly Link[] } {
  const fields = new Fields(output)
  const changed: (Pick<ReviewFile, 'path' | 'previousPath' | 'status' | 'mode' | 'previousMode'> & { oid: string })[] =
    []
  while (fields.peek() === ':') {
    const [previousMode = '', mode = '', , oid = '', kind = ''] = fields.text().slice(1).split(' ')
    const letter = kind[0] ?? ''
    const status = STATUS[letter]
    if (status === undefined) throw new Error(`git reported a change of the unknown kind ${letter}`)
    const first = readPath(fields.next())
    const named = status === 'renamed' ? { path: readPath(fields.next()), previousPath: first } : { path: first }
    changed.push({ ...named, status, ...modesOf(status, previousMode, mode), oid: mode === '120000' ? oid : '' })
  }
  const links: Link[] = []
  const files = changed.map(({ oid, ...file }): ReviewFile => {
    const [added = '', deleted = '', path = ''] = fields.text().split('\t')
    // The paths of a rename follow as fields of their own.
    if (path === '') fields.skip(2)
    const counted = { ...file, additions: Number(added) || 0, deletions: Number(deleted) || 0, binary: added === '-' }
    if (oid !== '') links.push({ file: counted, oid })
    return counted
  })
  return {
    files,
    links,
    additions: files.reduce((sum, { additions }) => sum + additions, 0),
    deletions: files.reduce((sum, { deletions }) => sum + deletions, 0),
  }
}

/** Returns the modes that a change is about. */
function modesOf(
  status: ReviewFile['status'],
  previousMode: string,
  mode: string,
): Pick<ReviewFile, 'mode' | 'previousMode'> {
  if (status === 'deleted' || previousMode === mode) return {}
  if (status === 'added') return mode === '100644' ? {} : { mode }
  return { previousMode, mode }
}

/** Cuts the patch on a character boundary, since a part of a character is not text. */
function parsePatch(output: Buffer, patchBytes: number): Pick<Changes, 'patch' | 'patchTruncated'> {
  const { text } = cutText(storable(output.toString('utf8')), patchBytes)
  return { patch: text, patchTruncated: output.length > patchBytes }
}

class Fields {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  peek(): string {
    return this.#at < this.#bytes.length ? String.fromCharCode(this.#bytes[this.#at] ?? 0) : ''
  }

  next(): Buffer {
    const end = this.#bytes.indexOf(0, this.#at)
    if (end < 0) throw new ReviewRefused('the changes hold more files than a review lists')
    const field = this.#bytes.subarray(this.#at, end)
    this.#at = end + 1
    return field
  }

  text(): string {
    return this.next().toString('latin1')
  }

  skip(count: number): void {
    for (let left = count; left > 0; left--) this.next()
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns a path unchanged if it is UTF-8, else quoted as git quotes it, so that two paths stay two. */
export function readPath(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    const quoted = [...bytes].map(byte => {
      if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`
      return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`
    })
    return `"${quoted.join('')}"`
  }
}
