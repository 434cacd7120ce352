import { createHash, randomUUID } from 'node:crypto'
import { closeSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { transferOptions } from '../git/git-environment.ts'
import { GitError, runGit } from '../git/run-git.ts'
import { type GitHost, GitHostError, type RepositoryRef } from '../git-hosts/git-host.ts'
import { DiskBoundError, withinDisk } from '../sandboxes/linux/disk-bound.ts'
import { waitToLockFile } from '../storage/embedded/file-lock.ts'

/** A commit of a repository, for one organization. */
export interface MirroredCommit {
  readonly organizationId: string
  readonly host: GitHost
  readonly repository: RepositoryRef
  /** 40 lower-case hex. */
  readonly oid: string
}

/** When the oldest and the newest of the sandboxes that live were begun. */
export interface Readers {
  readonly oldest: Date
  readonly newest: Date
}

/** A fetch may be of a large repository; whoever waits for another's waits no longer. */
const FETCH_MS = 20 * 60_000
/** Git indexes what it fetches, with a few dozen bytes for each object. */
const FETCH_MEMORY_BYTES = 2 * 1024 ** 3

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
  readonly #maxBytes: number
  /** Fetches under way in this process, the last of each mirror. */
  readonly #queues = new Map<string, Promise<unknown>>()

  /** @param maxBytes of one mirror; a fetch that takes it over that is ended */
  constructor(directory: string, maxBytes: number) {
    this.#directory = directory
    this.#maxBytes = maxBytes
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
        if (!(await holds(gitDir, commit.oid, signal))) await fill(gitDir, commit, this.#maxBytes, signal)
      })
    }
    // When it was last used; the disk's clock, as `tidy` compares it.
    const now = new Date()
    await utimes(gitDir, now, now)
    return gitDir
  }

  /**
   * Puts mirrors aside that nobody has used for long, and deletes those put aside that no sandbox can be reading.
   *
   * A mirror that is first found aside is marked with the beginning of the newest sandbox there is then: whatever reads it
   * began no later. It goes when every sandbox there is began after its mark. No clock is compared with another, so it
   * does not matter that the kernel's, which dates files, is some milliseconds behind, or that one is put back.
   * @param bounds.unusedSince a mirror last used before this goes
   * @param bounds.readers tells when the oldest and the newest of this host's sandboxes were begun; null without any
   */
  async tidy(
    bounds: { readonly unusedSince: Date; readonly readers: () => Promise<Readers | null> },
    signal: AbortSignal,
  ): Promise<{ setAside: number; deleted: number }> {
    const { unusedSince } = bounds
    const told = { setAside: 0, deleted: 0 }
    const names = await readdir(this.#directory).catch(() => [])
    // After the names: whoever reads what is aside by now has begun by now.
    const readers = await bounds.readers()
    for (const name of names) {
      signal.throwIfAborted()
      const path = join(this.#directory, name)
      if (name.endsWith('.git')) {
        const isOld = async () => ((await lastUse(path)) ?? unusedSince) < unusedSince
        if (!(await isOld())) continue
        await this.#alone(path, signal, async () => {
          if (!(await isOld())) return
          await putAside(path)
          told.setAside += 1
        })
      } else if (name.includes(ASIDE)) {
        const mark = MARKED.exec(name)?.[1]
        if (readers === null || (mark !== undefined && readers.oldest.getTime() > Number(mark))) {
          await rm(path, { recursive: true, force: true })
          told.deleted += 1
        } else if (mark === undefined) await rename(path, `${path}.after-${readers.newest.getTime()}`)
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

async function lastUse(path: string): Promise<Date | undefined> {
  return (await stat(path).catch(() => undefined))?.mtime
}

/** Whether a commit was fetched whole, and is still there with its tree. */
async function holds(gitDir: string, oid: string, signal: AbortSignal): Promise<boolean> {
  const args = ['rev-parse', '--verify', '--quiet', `${pin(oid)}^{tree}`]
  return (await runGit(args, { gitDir, exits: [0, 1, 128], signal })).exitCode === 0
}

/** What git says when it is the other end or the way there that failed, and not what lies here. */
const ofTheOther = /unable to access|RPC failed|early EOF|hung up|timed out|Could not read from remote|remote error/i

/**
 * Fetches into a mirror. This git reads what a host sends with the service's rights, because it needs the network and the
 * credential: it is bounded, but not confined.
 */
async function fill(
  gitDir: string,
  { host, repository, oid }: MirroredCommit,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  await prepare(gitDir, signal)
  const remote = await host.access(repository, 'read', signal)
  const quiet = ['--quiet', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const args = ['fetch', ...quiet, ...transferOptions('fetch', remote), remote.url, `+${oid}:${pin(oid)}`]
  try {
    const bounds = { memoryBytes: FETCH_MEMORY_BYTES, cpuSeconds: FETCH_MS / 1000, fileBytes: maxBytes }
    await withinDisk(gitDir, maxBytes, signal, within =>
      runGit(args, { gitDir, remote, bounds, signal: within, timeoutMs: FETCH_MS }),
    )
  } catch (cause) {
    const over = cause instanceof GitError ? cause.bound : undefined
    if (cause instanceof DiskBoundError || over === 'file size') {
      // With it goes whatever earlier fetches have brought, which may be what is too much.
      await clearFetched(gitDir)
      await putAside(gitDir)
      throw new GitHostError('invalid', `the repository is larger than a mirror may be (${maxBytes} bytes)`, { cause })
    }
    if (over !== undefined && over !== 'time')
      throw new GitHostError('invalid', `fetching ${oid} goes over a bound: ${over}`, { cause })
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
  await clearFetched(gitDir)
}

/** Removes what a fetch that was ended has left. */
async function clearFetched(gitDir: string): Promise<void> {
  const packs = join(gitDir, 'objects/pack')
  for (const name of await readdir(packs).catch(() => [])) {
    if (name.startsWith('tmp_') || name.endsWith('.lock')) await rm(join(packs, name), { force: true })
  }
}

const ASIDE = '.git.aside-'
/** The beginning of the newest sandbox that may be reading it, in milliseconds. */
const MARKED = /\.after-(\d+)$/

/** Sandboxes that live may still read from it, so it is not deleted under them. */
async function putAside(gitDir: string): Promise<void> {
  await rename(gitDir, gitDir.replace(/\.git$/, `${ASIDE}${randomUUID()}`)).catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
}
