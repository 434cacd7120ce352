import { GitError, runGit } from './run-git.ts'

/** What files of a commit take on a disk. */
export interface DiskSize {
  readonly bytes: number
  readonly inodes: number
}

/** What a file system spends on a file or directory at least, and by which it counts content. */
const BLOCK_BYTES = 4096
/** Of git's index, for a file with a long path. */
const INDEX_BYTES = 160
/** Files and directories of a repository's `.git`. */
const OWN_INODES = 64
/** A commit with more changes is not compared any further. */
const MOST_CHANGES = 200_000

/**
 * Returns the paths in which two commits differ, one character per byte, each with the id of its content in the second, or
 * null for one that is gone; null if there are too many, or the repository lacks one of the commits.
 */
export async function changedPaths(
  gitDir: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | null> | null> {
  const changed = new Map<string, string | null>()
  let oid: string | null | undefined
  const take = records(record => {
    if (oid === undefined) {
      const [, , , id = '', status] = record.split(' ')
      oid = status === 'D' ? null : id
      return false
    }
    changed.set(record, oid)
    oid = undefined
    return changed.size > MOST_CHANGES
  })
  try {
    await runGit(['diff-tree', '-r', '-z', '--no-renames', from, to], { gitDir, take, signal })
  } catch (error) {
    if (error instanceof GitError) return null
    throw error
  }
  return changed.size > MOST_CHANGES ? null : changed
}

/** Returns what a commit's files take, with the index that names them. */
export async function sizeOfCommit(gitDir: string, oid: string, signal: AbortSignal): Promise<DiskSize> {
  const whole = tally()
  const take = records(record => {
    const tab = record.indexOf('\t')
    // The size stands last before the tab; a submodule has none.
    whole.add(record.slice(tab + 1), Number(record.slice(record.lastIndexOf(' ', tab) + 1, tab)) || 0)
    return false
  })
  await runGit(['ls-tree', '-r', '-l', '-z', '--full-tree', oid], { gitDir, take, signal })
  return whole.size(0)
}

/**
 * Returns what changed files take, with an index that names all files.
 * @param indexBytes size of the index of the commit from which they differ
 */
export async function sizeOfChanges(
  gitDir: string,
  changed: ReadonlyMap<string, string | null>,
  indexBytes: number,
  signal: AbortSignal,
): Promise<DiskSize> {
  const part = tally()
  const paths = changed.keys()
  const take = records(size => {
    // A submodule's commit is missing, and takes nothing.
    part.add(paths.next().value ?? '', Number(size) || 0)
    return false
  }, '\n')
  const input = [...changed.values()].map(oid => `${oid ?? 'gone'}\n`).join('')
  await runGit(['cat-file', '--batch-check=%(objectsize)'], { gitDir, input, take, signal })
  return part.size(indexBytes)
}

function tally() {
  const directories = new Set<string>()
  let [files, bytes] = [0, 0]
  return {
    add(path: string, size: number) {
      files += 1
      bytes += Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
      for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
        const directory = path.slice(0, at)
        if (directories.has(directory)) break
        directories.add(directory)
      }
    },
    /** @param indexBytes of an index of other files that is written as well */
    size(indexBytes: number): DiskSize {
      const inodes = files + directories.size + OWN_INODES
      return { bytes: bytes + (directories.size + OWN_INODES) * BLOCK_BYTES + files * INDEX_BYTES + indexBytes, inodes }
    },
  }
}

/** Returns a taker of output that hands on each record without its end, until it is told that there are enough. */
function records(each: (record: string) => boolean, end = '\0'): (piece: Buffer) => boolean {
  let rest = ''
  return piece => {
    const parts = (rest + piece.toString('latin1')).split(end)
    rest = parts.pop() ?? ''
    return parts.some(each)
  }
}
