import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OwnRepository } from './own-repository.ts'
import { GitError, type GitOptions, gitText, runGit } from './run-git.ts'

/** A path that both sides have changed, and git's word for the conflict. */
export interface TreeConflict {
  readonly path: Buffer
  readonly kind: string
}

export interface TreeMerge {
  /** Its objects belong to the user of its view. */
  readonly repository: OwnRepository
  /** The tree or commit from which both sides come. */
  readonly from: string
  readonly ours: string
  readonly theirs: string
  /** What conflict markers call the two sides: names that git takes for branches. */
  readonly names: { readonly ours: string; readonly theirs: string }
  readonly signal: AbortSignal
}

/** What conflict markers call the side of a Session's work. */
export const WORK_SIDE = 'work'

/** Of each git: comparing lines takes some 43 bytes of memory for each byte of a file. */
const bounds = { memoryBytes: 1024 ** 3, cpuSeconds: 120, fileBytes: 1024 ** 3 }
const nobodys = {
  ...{ GIT_AUTHOR_NAME: 'Berth', GIT_AUTHOR_EMAIL: 'berth@localhost', GIT_AUTHOR_DATE: '@0 +0000' },
  ...{ GIT_COMMITTER_NAME: 'Berth', GIT_COMMITTER_EMAIL: 'berth@localhost', GIT_COMMITTER_DATE: '@0 +0000' },
}

/** Options of a git that writes objects to a repository, whose user it makes their owner. */
export function writingTo({ gitDir, view }: OwnRepository, signal: AbortSignal): GitOptions {
  return { gitDir, view: { ...view, writes: [join(gitDir, 'objects')] }, bounds, signal, timeoutMs: 120_000 }
}

/** Lets the user of a repository's view write objects into it. */
export async function letWrite({ gitDir, view }: OwnRepository): Promise<void> {
  if (view.uid !== undefined) await chown(join(gitDir, 'objects'), view.uid, view.uid)
}

/**
 * Merges two trees that come from a third, and writes the result. A file whose changes do not unite holds both between
 * markers; a conflict of another kind leaves our side, or the one that is left.
 *
 * Git runs confined, in a repository without work tree and without anybody's configuration, so it reads no attributes: no
 * driver and no filter of the content runs.
 * @returns the merged tree
 * @throws GitError, which names the bound if the merge went over one
 */
export async function mergeTrees(merge: TreeMerge): Promise<{ readonly tree: string; conflicts: TreeConflict[] }> {
  const { repository, from, ours, theirs, names, signal } = merge
  const options = writingTo(repository, signal)
  const treeOf = (oid: string) => gitText(['rev-parse', '--verify', `${oid}^{tree}`], options)
  const commit = async (tree: string, parents: readonly string[]) => {
    const args = ['commit-tree', ...parents.flatMap(parent => ['-p', parent]), '-m', 'merge', tree]
    return gitText(args, { ...options, env: nobodys })
  }
  // Git's merge-tree takes no base, and finds it as the parent of stand-ins. Both sides have a commit of their own even
  // if their trees are equal.
  const base = await commit(await treeOf(from), [])
  const heads = { ours: await commit(await treeOf(ours), [base]), theirs: await commit(await treeOf(theirs), [base]) }
  const refs = [`${heads.theirs} refs/heads/${names.theirs}`, `${heads.ours} refs/heads/${names.ours}`]
  await writeFile(join(repository.gitDir, 'packed-refs'), `# pack-refs with: peeled \n${refs.join('\n')}\n`)
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', names.ours, names.theirs]
  const { stdout } = await runGit(args, { ...options, exits: [0, 1] })
  return parseMerge(stdout)
}

/**
 * Reads `merge-tree -z --name-only`: the tree, the paths in conflict, an empty field, then for each message how many paths
 * it is about, these, its kind and its text.
 */
export function parseMerge(output: Buffer): { tree: string; conflicts: TreeConflict[] } {
  const fields: Buffer[] = []
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0, at)
    if (end < 0) throw new Error('git cut its report of a merge')
    fields.push(output.subarray(at, end))
    at = end + 1
  }
  const tree = fields.shift()?.toString('latin1') ?? ''
  if (!/^[0-9a-f]{40}$/.test(tree)) throw new Error('git reported no merged tree')
  const ends = fields.findIndex(field => field.length === 0)
  const paths = ends < 0 ? fields : fields.slice(0, ends)
  const kinds = new Map<string, string>()
  const rest = ends < 0 ? [] : fields.slice(ends + 1)
  for (let at = 0; at < rest.length; ) {
    const count = Number(rest[at]?.toString('latin1'))
    if (!Number.isSafeInteger(count) || count < 0) throw new Error('git reported a merge in an unknown form')
    const kind = /^CONFLICT \((.+)\)$/.exec(rest[at + count + 1]?.toString('utf8') ?? '')?.[1]
    if (kind !== undefined) {
      for (const path of rest.slice(at + 1, at + 1 + count)) {
        const name = path.toString('latin1')
        // The first is the more telling: a binary conflict is then called one of contents.
        if (!kinds.has(name)) kinds.set(name, kind)
      }
    }
    at += count + 3
  }
  return { tree, conflicts: paths.map(path => ({ path, kind: kinds.get(path.toString('latin1')) ?? 'contents' })) }
}

/** Returns the newest of some commits of one history; null if none is an ancestor of a commit. */
export async function newestAncestor(
  gitDir: string,
  of: string,
  candidates: readonly string[],
  signal: AbortSignal,
): Promise<string | null> {
  const ancestors: string[] = []
  for (const candidate of new Set(candidates)) {
    if (await isAncestor(gitDir, candidate, of, signal)) ancestors.push(candidate)
  }
  if (ancestors.length < 2) return ancestors[0] ?? null
  const apart = await gitText(['merge-base', '--independent', ...ancestors], { gitDir, signal })
  return apart.split('\n')[0] ?? null
}

/** Returns whether one commit leads to another; false if the repository lacks the first. */
export async function isAncestor(gitDir: string, oid: string, of: string, signal: AbortSignal): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', oid, of]
  return (await runGit(args, { gitDir, exits: [0, 1, 128], signal })).exitCode === 0
}

/** Returns how many commits one commit has that another lacks, up to a bound. */
export async function countAhead(
  gitDir: string,
  { oid, of, most }: { readonly oid: string; readonly of: string; readonly most: number },
  signal: AbortSignal,
): Promise<number> {
  return Number(await gitText(['rev-list', '--count', `--max-count=${most}`, oid, `^${of}`], { gitDir, signal }))
}

/** Returns the best common ancestor of two commits; null if there is none. */
export async function commonAncestor(
  gitDir: string,
  a: string,
  b: string,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const oid = await gitText(['merge-base', a, b], { gitDir, exits: [0, 1], signal })
    return /^[0-9a-f]{40}$/.test(oid) ? oid : null
  } catch (error) {
    if (error instanceof GitError && error.reason === 'exit') return null
    throw error
  }
}
