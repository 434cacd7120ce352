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
 * Returns the paths in which two commits differ, one character per byte; null if there are too many, or the repository
 * lacks one of the commits.
 */
export async function changedPaths(
  gitDir: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | null> {
  const changed = new Set<string>()
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to]
  const take = records(path => {
    changed.add(path)
    return changed.size > MOST_CHANGES
  })
  try {
    await runGit(args, { gitDir, take, signal })
  } catch (error) {
    if (error instanceof GitError) return null
    throw error
  }
  return changed.size > MOST_CHANGES ? null : changed
}

/**
 * Returns what a commit's files take, and what those of its files take that are in a set of paths, each with the index
 * that names all files.
 */
export async function sizesOfCommit(
  gitDir: string,
  oid: string,
  paths: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<{ readonly files: number; readonly whole: DiskSize; readonly part: DiskSize }> {
  const [whole, part] = [tally(), tally()]
  const take = records(record => {
    const tab = record.indexOf('\t')
    const path = record.slice(tab + 1)
    // The size stands last before the tab; a submodule has none.
    const bytes = Number(record.slice(record.lastIndexOf(' ', tab) + 1, tab)) || 0
    whole.add(path, bytes)
    if (paths.has(path)) part.add(path, bytes)
    return false
  })
  await runGit(['ls-tree', '-r', '-l', '-z', '--full-tree', oid], { gitDir, take, signal })
  const { files } = whole
  return { files, whole: whole.size(files), part: part.size(files) }
}

function tally() {
  const directories = new Set<string>()
  let bytes = 0
  return {
    files: 0,
    add(path: string, size: number) {
      this.files += 1
      bytes += Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
      for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
        const directory = path.slice(0, at)
        if (directories.has(directory)) break
        directories.add(directory)
      }
    },
    size(indexed: number): DiskSize {
      const inodes = this.files + directories.size + OWN_INODES
      return { bytes: bytes + (directories.size + OWN_INODES) * BLOCK_BYTES + indexed * INDEX_BYTES, inodes }
    },
  }
}

/** Returns a taker of output that hands on each record without its NUL, until it is told that there are enough. */
function records(each: (record: string) => boolean): (piece: Buffer) => boolean {
  let rest = ''
  return piece => {
    const parts = (rest + piece.toString('latin1')).split('\0')
    rest = parts.pop() ?? ''
    return parts.some(each)
  }
}
