import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MergeStrategy } from '../git-hosts/git-host.ts'
import { GitError, gitText, runGit } from './run-git.ts'

/** Who commits what is written. */
export interface Committer {
  readonly name: string
  readonly email: string
  readonly at: Date
}

export interface MergeCommits {
  /** Bare repository that holds both commits and gets what is written. */
  readonly gitDir: string
  readonly baseOid: string
  readonly headOid: string
  readonly strategy: MergeStrategy
  /** The whole message of a merge or squash commit. */
  readonly message: string
  readonly committer: Committer
  readonly signal?: AbortSignal
}

/**
 * Writes the commits that bring a head into a base, and moves no branch.
 *
 * Git runs in a scratch repository that only borrows the objects: a merge driver or a filter that the repository's own
 * configuration names is not configured there, so nothing of it runs.
 * @returns the commit the base branch should come to, or null where the two conflict
 */
export async function mergeCommits(merge: MergeCommits): Promise<string | null> {
  return withScratch(merge.gitDir, async scratch => {
    const merged = new Merger(scratch, merge)
    if (merge.strategy === 'rebase') return merged.rebase()
    const tree = await merged.tree(merge.baseOid, merge.headOid)
    if (tree === null) return null
    const parents = merge.strategy === 'merge' ? [merge.baseOid, merge.headOid] : [merge.baseOid]
    return merged.commit(tree, parents, merge.message)
  })
}

class Merger {
  readonly #options: Parameters<typeof runGit>[1]
  readonly #merge: MergeCommits

  constructor({ gitDir, env }: Scratch, merge: MergeCommits) {
    this.#merge = merge
    const { name, email, at } = merge.committer
    const date = `@${Math.floor(at.getTime() / 1000)} +0000`
    this.#options = {
      gitDir,
      env: {
        ...env,
        ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
        ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
      },
      ...(merge.signal && { signal: merge.signal }),
    }
  }

  /** The tree of a merge; null for a conflict, and for commits that have no history in common. */
  async tree(ours: string, theirs: string): Promise<string | null> {
    const args = ['merge-tree', '--write-tree', '--no-messages', ours, theirs]
    try {
      const { exitCode, stdout } = await runGit(args, { ...this.#options, exits: [0, 1] })
      return exitCode === 0 ? stdout.toString('latin1').trim() : null
    } catch (error) {
      if (error instanceof GitError && error.stderr.includes('unrelated histories')) return null
      throw error
    }
  }

  async commit(tree: string, parents: readonly string[], message: string, author = {}): Promise<string> {
    const env = { ...this.#options?.env, ...author }
    const args = ['commit-tree', ...parents.flatMap(parent => ['-p', parent]), '-F', '-', tree]
    return gitText(args, { ...this.#options, env, input: message })
  }

  /** Every commit of the head that is not in the base, put on top of it one by one; merges are left out. */
  async rebase(): Promise<string | null> {
    const { baseOid, headOid } = this.#merge
    const list = ['rev-list', '--reverse', '--topo-order', '--no-merges', '--right-only', '--cherry-pick']
    const picked = await gitText([...list, `${baseOid}...${headOid}`], this.#options)
    let onto = baseOid
    for (const oid of picked.split('\n').filter(line => line !== '')) {
      const next = await this.#pick(oid, onto)
      if (next === null) return null
      onto = next
    }
    return onto
  }

  /** This git's merge-tree takes no merge base, so it is given a commit whose history makes the picked one's parent it. */
  async #pick(oid: string, onto: string): Promise<string | null> {
    const format = ['show', '--no-patch', '--format=%P%x00%an%x00%ae%x00%ad%x00%B', '--date=raw', oid]
    const [parent = '', name = '', email = '', date = '', ...body] = (await gitText(format, this.#options)).split('\0')
    if (parent === '') return null
    const stand = await this.commit(`${onto}^{tree}`, [parent], 'onto')
    const tree = await this.tree(stand, oid)
    if (tree === null) return null
    return this.commit(tree, [onto], body.join('\0').trimEnd(), {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: `@${date}`,
    })
  }
}

interface Scratch {
  readonly gitDir: string
  readonly env: Readonly<Record<string, string>>
}

/** A repository with no configuration of anybody's over the objects of another. */
async function withScratch<T>(gitDir: string, work: (scratch: Scratch) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-merge-'))
  try {
    await runGit(['init', '--bare', '--quiet', '--template=', dir])
    return await work({ gitDir: dir, env: { GIT_OBJECT_DIRECTORY: join(gitDir, 'objects') } })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
