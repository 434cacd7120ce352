import { randomUUID } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { MergeStrategy } from '@berth/contract'
import { nobody } from '@berth/sandboxes/confined/confined.ts'
import { type OwnRepository, openLeft, openOwnRepository, takePack } from './own-repository.ts'
import { GitError, gitText, runGit } from './run-git.ts'

/** The author and committer of new commits. */
export interface Committer {
  readonly name: string
  readonly email: string
  readonly at: Date
}

export interface MergeCommits {
  /** Bare repository that holds both commits and receives the new ones. */
  readonly gitDir: string
  readonly baseOid: string
  readonly headOid: string
  readonly strategy: MergeStrategy
  /** The whole message of a merge or squash commit. */
  readonly message: string
  readonly committer: Committer
  readonly signal?: AbortSignal
}

/** Bounds of each git of a merge: comparing lines takes some 43 bytes of memory for each byte of a file. */
const bounds = { memoryBytes: 1024 ** 3, cpuSeconds: 60, fileBytes: 512 * 1024 ** 2 }

/**
 * Writes the commits that bring a head into a base, and moves no branch.
 *
 * Git runs confined, as nobody, in a scratch repository that only borrows the objects. A merge driver or filter of the
 * repository's own configuration is not configured there, so it does not run. Content that makes git misbehave reaches
 * the scratch alone. The repository gets the new objects as a pack that git has indexed again.
 * @returns the commit that the base branch should move to, or null if the two conflict
 * @throws GitError, which names the bound if the merge went over one
 */
export async function mergeCommits(merge: MergeCommits): Promise<string | null> {
  return withScratch(merge.gitDir, async scratch => {
    const merged = new Merger(scratch.writer, merge)
    const oid = merge.strategy === 'rebase' ? await merged.rebase() : await merged.unite()
    if (oid !== null && oid !== merge.baseOid) await handOver(scratch, merge, oid)
    return oid
  })
}

/**
 * Returns true if a head can be merged into a base; writes nothing.
 * @throws GitError
 */
export async function canMerge(
  merge: Pick<MergeCommits, 'gitDir' | 'baseOid' | 'headOid' | 'signal'>,
): Promise<boolean> {
  return withScratch(
    merge.gitDir,
    async ({ writer }) => (await mergedTree(optionsOf(writer, merge), merge.baseOid, merge.headOid)) !== null,
  )
}

type Options = NonNullable<Parameters<typeof runGit>[1]>

function optionsOf({ gitDir, view }: OwnRepository, { signal }: Pick<MergeCommits, 'signal'>): Options {
  return { gitDir, view: { ...view, writes: [join(gitDir, 'objects')] }, bounds, ...(signal && { signal }) }
}

/** Returns the tree of a merge; null if the commits conflict or have no history in common. */
async function mergedTree(options: Options, ours: string, theirs: string): Promise<string | null> {
  const args = ['merge-tree', '--write-tree', '--no-messages', ours, theirs]
  try {
    const { exitCode, stdout } = await runGit(args, { ...options, exits: [0, 1] })
    return exitCode === 0 ? stdout.toString('latin1').trim() : null
  } catch (error) {
    if (error instanceof GitError && error.stderr.includes('unrelated histories')) return null
    throw error
  }
}

class Merger {
  readonly #options: Options
  readonly #merge: MergeCommits

  constructor(repository: OwnRepository, merge: MergeCommits) {
    this.#merge = merge
    const { name, email, at } = merge.committer
    const date = `@${Math.floor(at.getTime() / 1000)} +0000`
    this.#options = {
      ...optionsOf(repository, merge),
      env: {
        ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
        ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
      },
    }
  }

  /** Writes one commit, with both as its parents or with the base alone. */
  async unite(): Promise<string | null> {
    const { strategy, baseOid, headOid, message } = this.#merge
    const tree = await mergedTree(this.#options, baseOid, headOid)
    if (tree === null) return null
    return this.commit(tree, strategy === 'merge' ? [baseOid, headOid] : [baseOid], message)
  }

  async commit(tree: string, parents: readonly string[], message: string): Promise<string> {
    const args = ['commit-tree', ...parents.flatMap(parent => ['-p', parent]), '-F', '-', tree]
    return gitText(args, { ...this.#options, input: message })
  }

  /** Puts every commit of the head that the base lacks on top of the base, one by one; it leaves merges out. */
  async rebase(): Promise<string | null> {
    const { baseOid, headOid } = this.#merge
    const list = ['rev-list', '--reverse', '--topo-order', '--no-merges', '--right-only', '--cherry-pick']
    const picked = await gitText([...list, `${baseOid}...${headOid}`], this.#options)
    const committer = await gitText(['var', 'GIT_COMMITTER_IDENT'], this.#options)
    let onto = baseOid
    for (const oid of picked.split('\n').filter(line => line !== '')) {
      const next = await this.#pick(oid, onto, committer)
      if (next === null) return null
      onto = next
    }
    return onto
  }

  /**
   * Picks one commit onto another. This git's merge-tree takes no merge base, so a stand-in replaces `onto`: a commit
   * with the tree of `onto` and the parent of the picked commit, which is then the merge base.
   *
   * The author and the message keep their bytes: people's old commits are in encodings that no header may name.
   */
  async #pick(oid: string, onto: string, committer: string): Promise<string | null> {
    const { stdout: raw } = await runGit(['cat-file', 'commit', oid], this.#options)
    const [head = '', ...body] = raw.toString('latin1').split('\n\n')
    const header = (name: string) => head.split('\n').filter(line => line.startsWith(`${name} `))
    const parent = header('parent')[0]?.slice('parent '.length)
    if (parent === undefined) return null
    const stand = await this.commit(`${onto}^{tree}`, [parent], 'onto')
    const tree = await mergedTree(this.#options, stand, oid)
    if (tree === null) return null
    const before = [`tree ${tree}`, `parent ${onto}`, ...header('author'), 'committer ']
    const after = ['', ...header('encoding'), '', body.join('\n\n')]
    const input = [before, after].map(lines => Buffer.from(lines.join('\n'), 'latin1'))
    input.splice(1, 0, Buffer.from(committer))
    const write = ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally']
    return gitText(write, { ...this.#options, input: Buffer.concat(input) })
  }
}

interface Scratch {
  /** Repository in which the commits are written. */
  readonly writer: OwnRepository
  /** Repository that receives them as a pack. */
  readonly taker: OwnRepository
}

/** Lends scratch repositories, without anybody's configuration, over the objects of another. */
async function withScratch<T>(gitDir: string, work: (scratch: Scratch) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-merge-'))
  try {
    const borrowed = await objectDirectories(join(gitDir, 'objects'))
    const [writer, taker] = await Promise.all(
      ['writer', 'taker'].map(async name => {
        await mkdir(join(dir, name))
        return openOwnRepository(join(dir, name), borrowed, nobody)
      }),
    )
    if (writer === undefined || taker === undefined) throw new Error('no scratch')
    const { uid } = writer.view
    if (uid !== undefined) await chown(join(writer.gitDir, 'objects'), uid, uid)
    return await work({ writer, taker })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Returns an object directory and those that it borrows from, as an operator may have set up. */
async function objectDirectories(objects: string): Promise<string[]> {
  const alternates = await readFile(join(objects, 'info/alternates'), 'utf8').catch(() => '')
  return [objects, ...alternates.split('\n').filter(line => line.startsWith('/') && existsSync(line))]
}

/** Copies a commit's new objects from the scratch into the repository. */
async function handOver({ writer, taker }: Scratch, merge: MergeCommits, oid: string): Promise<void> {
  const { gitDir, baseOid, headOid, signal } = merge
  const { stdout } = await runGit(['pack-objects', '--revs', '--stdout', '--quiet', '--threads=1'], {
    ...optionsOf(writer, merge),
    input: `${oid}\n^${baseOid}\n^${headOid}\n`,
    maxOutputBytes: bounds.fileBytes,
  })
  const pack = await takePack(taker, Readable.from([stdout]), { strict: false, bounds, ...(signal && { signal }) })
  const packs = join(gitDir, 'objects/pack')
  await mkdir(packs, { recursive: true })
  // The index last: git finds the pack by it.
  for (const path of [pack, pack.replace(/\.pack$/, '.idx')]) {
    const fresh = join(packs, `tmp_berth_${randomUUID()}`)
    await pipeline((await openLeft(path)).createReadStream(), createWriteStream(fresh, { flags: 'wx', mode: 0o444 }))
    await rename(fresh, join(packs, basename(path)))
  }
}
