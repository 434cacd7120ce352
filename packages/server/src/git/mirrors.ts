import { createHash, randomUUID } from 'node:crypto'
import { closeSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type GitHost, GitHostError, type RepositoryRef } from '../git-hosts/git-host.ts'
import { waitToLockFile } from '../storage/embedded/file-lock.ts'
import { transferOptions } from './git-environment.ts'
import { GitError, runGit } from './run-git.ts'

/** A commit of a repository, for one organization. */
export interface MirroredCommit {
  readonly organizationId: string
  readonly host: GitHost
  readonly repository: RepositoryRef
  /** 40 lower-case hex. */
  readonly oid: string
}

/** A fetch may be of a large repository; whoever waits for another's waits no longer. */
const FETCH_MS = 20 * 60_000

/**
 * Mirrors of repositories, one for each organization, host and repository, which the Sessions of this machine share: bare,
 * each commit that a Session is pinned to held by a ref of its own, so it is never pruned and what has it needs nothing of
 * the host. Only what is missing is fetched, by one process at a time: whoever comes second finds it there.
 *
 * A ref is written by the fetch that brought everything it reaches, so its being there is proof. A mirror that is
 * deleted is made again, one that turns out broken is put aside; no other file of the service refers to what is in it.
 * Objects are readable by everybody, because the agents' own users read them; the directories above are not.
 */
export class Mirrors {
  readonly #directory: string
  /** Fetches under way in this process, the last of each mirror. */
  readonly #queues = new Map<string, Promise<unknown>>()

  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * A mirror that holds a commit and all it reaches.
   * @returns the path of the bare repository
   * @throws GitHostError, GitError, or the signal's reason
   */
  async provide(commit: MirroredCommit, signal: AbortSignal): Promise<string> {
    const gitDir = this.#pathOf(commit)
    if (!(await holds(gitDir, commit.oid, signal))) {
      await this.#alone(gitDir, signal, async () => {
        if (!(await holds(gitDir, commit.oid, signal))) await fill(gitDir, commit, signal)
      })
    }
    // When it was last used; the disk's clock, as `tidy` compares it.
    const now = new Date()
    await utimes(gitDir, now, now)
    return gitDir
  }

  /**
   * Puts mirrors aside that nobody has used for long, and deletes those put aside that no sandbox can be reading.
   * @param bounds.unusedSince a mirror last used before this goes
   * @param bounds.oldestReader when the oldest of this host's sandboxes was begun; null where there is none
   */
  async tidy(
    bounds: { readonly unusedSince: Date; readonly oldestReader: Date | null },
    signal: AbortSignal,
  ): Promise<{ setAside: number; deleted: number }> {
    const { unusedSince, oldestReader } = bounds
    const told = { setAside: 0, deleted: 0 }
    for (const name of await readdir(this.#directory).catch(() => [])) {
      signal.throwIfAborted()
      const path = join(this.#directory, name)
      if (name.endsWith('.git')) {
        const isOld = async () => ((await timesOf(path))?.mtime ?? unusedSince) < unusedSince
        if (!(await isOld())) continue
        await this.#alone(path, signal, async () => {
          if (!(await isOld())) return
          await putAside(path)
          told.setAside += 1
        })
      } else if (name.includes(ASIDE)) {
        // The rename is the last change of the directory itself.
        const since = (await timesOf(path))?.ctime
        if (since === undefined || (oldestReader !== null && oldestReader <= since)) continue
        await rm(path, { recursive: true, force: true })
        told.deleted += 1
      }
    }
    return told
  }

  /** Puts a mirror aside that turned out broken; the next to need it fetches anew. */
  async discard(commit: MirroredCommit, signal: AbortSignal): Promise<void> {
    const gitDir = this.#pathOf(commit)
    await this.#alone(gitDir, signal, () => putAside(gitDir))
  }

  #pathOf({ organizationId, host, repository }: MirroredCommit): string {
    const name = createHash('sha256').update(JSON.stringify([organizationId, host.id, repository.repositoryId]))
    return join(this.#directory, `${name.digest('hex').slice(0, 40)}.git`)
  }

  async #alone(gitDir: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(gitDir)
    const turn = (async () => {
      await before?.catch(() => undefined)
      signal.throwIfAborted()
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      const lock = await waitToLockFile(`${gitDir}.lock`, FETCH_MS, signal)
      if (lock === undefined) throw new GitHostError('unavailable', 'another process does not get done with the mirror')
      try {
        await work()
      } finally {
        closeSync(lock)
      }
    })()
    this.#queues.set(gitDir, turn)
    try {
      await turn
    } finally {
      if (this.#queues.get(gitDir) === turn) this.#queues.delete(gitDir)
    }
  }
}

const pin = (oid: string) => `refs/berth/base/${oid}`

async function timesOf(path: string): Promise<{ readonly mtime: Date; readonly ctime: Date } | undefined> {
  return stat(path).catch(() => undefined)
}

/** Whether a commit was fetched whole, and is still there with its tree. */
async function holds(gitDir: string, oid: string, signal: AbortSignal): Promise<boolean> {
  const args = ['rev-parse', '--verify', '--quiet', `${pin(oid)}^{tree}`]
  return (await runGit(args, { gitDir, exits: [0, 1, 128], signal })).exitCode === 0
}

/** What git says when it is the other end or the way there that failed, and not what lies here. */
const ofTheOther = /unable to access|RPC failed|early EOF|hung up|timed out|Could not read from remote|remote error/i

async function fill(gitDir: string, { host, repository, oid }: MirroredCommit, signal: AbortSignal): Promise<void> {
  await prepare(gitDir, signal)
  const remote = await host.access(repository, 'read', signal)
  const quiet = ['--quiet', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const args = ['fetch', ...quiet, ...transferOptions('fetch', remote), remote.url, `+${oid}:${pin(oid)}`]
  try {
    await runGit(args, { gitDir, remote, signal, timeoutMs: FETCH_MS })
  } catch (cause) {
    if (!(cause instanceof GitError)) throw cause
    const gone = /not our ref|unadvertised object|no such remote ref/i.test(cause.stderr)
    if (!gone && cause.reason === 'exit' && !ofTheOther.test(cause.stderr)) await putAside(gitDir)
    throw new GitHostError(gone ? 'not_found' : 'unavailable', `the commit ${oid} could not be fetched`, { cause })
  }
}

/** Makes the repository where there is none, or none that git takes for one, and clears what a killed fetch left. */
async function prepare(gitDir: string, signal: AbortSignal): Promise<void> {
  const { exitCode } = await runGit(['rev-parse', '--git-dir'], { gitDir, exits: [0, 128], signal })
  if (exitCode !== 0) {
    await putAside(gitDir)
    await runGit(['init', '--bare', '--quiet', '--template=', '--shared=0644', gitDir], { signal })
  }
  const packs = join(gitDir, 'objects/pack')
  for (const name of await readdir(packs).catch(() => [])) {
    if (name.startsWith('tmp_') || name.endsWith('.lock')) await rm(join(packs, name), { force: true })
  }
}

const ASIDE = '.git.aside-'

/** Sandboxes that live may still read from it, so it is not deleted under them. */
async function putAside(gitDir: string): Promise<void> {
  await rename(gitDir, gitDir.replace(/\.git$/, `${ASIDE}${randomUUID()}`)).catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
}
