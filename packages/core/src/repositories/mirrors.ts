import { createHash, randomUUID } from 'node:crypto'
import { closeSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { emptyTreeOid } from '@berth/contract'
import { type Progress, progressReport } from '@berth/platform/kit/progress.ts'
import { waitToLockFile } from '@berth/platform/storage/embedded/file-lock.ts'
import { DiskBoundError, withinDisk } from '@berth/sandboxes/linux/disk-bound.ts'
import { transferOptions } from '../git/git-environment.ts'
import { GitError, runGit } from '../git/run-git.ts'
import { gitErrorKind } from '../git-hosts/git-error-kind.ts'
import { type GitHost, GitHostError, type RepositoryRef } from '../git-hosts/git-host.ts'

/** A commit of a repository, for one organization; the empty tree stands for no commit. */
export interface MirroredCommit {
  readonly organizationId: string
  readonly host: GitHost
  readonly repository: RepositoryRef
  /** 40 lower-case hex. */
  readonly oid: string
}

/** When the oldest and the newest of the live sandboxes began. */
export interface Readers {
  readonly oldest: Date
  readonly newest: Date
}

/** Longest fetch, since a repository may be large, and longest wait for another's fetch. */
const FETCH_MS = 20 * 60_000
/** Memory of a fetch: git indexes its objects, with a few dozen bytes for each. */
const FETCH_MEMORY_BYTES = 2 * 1024 ** 3

/**
 * Mirrors of repositories, one for each organization, host and repository, which the Sessions of this machine share.
 * They are bare. A ref holds each commit that a Session is pinned to, so git never prunes it, and a Session whose
 * commit is there needs nothing from the host. Only missing commits are fetched, by one process at a time: a second
 * caller finds them there. The mirror of a repository without a commit holds the empty tree in its place.
 *
 * A fetch writes its ref after everything that the ref reaches, so the ref is proof. A mirror that is deleted is made
 * again, a broken one is put aside; no other file of the service refers to their content. Everybody can read the
 * objects, because the agents' own users do; the directories above are closed.
 */
export class Mirrors {
  readonly #directory: string
  readonly #maxBytes: number
  /** The last fetch under way in this process, by mirror. */
  readonly #queues = new Map<string, Promise<unknown>>()

  /** @param maxBytes bound of one mirror; a fetch that takes it further is ended */
  constructor(directory: string, maxBytes: number) {
    this.#directory = directory
    this.#maxBytes = maxBytes
  }

  /**
   * Provides a mirror that holds a commit and everything that the commit reaches.
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
    // The time of the last use, which `tidy` compares.
    const now = new Date()
    await utimes(gitDir, now, now)
    return gitDir
  }

  /**
   * Puts aside the mirrors that nobody has used for long, and deletes those put aside that no sandbox can be reading.
   *
   * A pass that first finds a mirror aside marks it with the beginning of the newest sandbox: every reader began no
   * later. It is deleted when every sandbox began after the mark. No clock is compared with another, so it does not
   * matter that the kernel's, which dates files, is some milliseconds behind, or that one is put back.
   * @param bounds.unusedSince a mirror last used before this is put aside
   * @param bounds.readers returns when the oldest and the newest of this host's sandboxes began; null if there are none
   */
  async tidy(
    bounds: { readonly unusedSince: Date; readonly readers: () => Promise<Readers | null> },
    signal: AbortSignal,
  ): Promise<{ setAside: number; deleted: number }> {
    const { unusedSince } = bounds
    const counts = { setAside: 0, deleted: 0 }
    const names = await readdir(this.#directory).catch(() => [])
    // After the names: every reader of a mirror that is aside by now has begun by now.
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
          counts.setAside += 1
        })
      } else if (name.includes(ASIDE)) {
        const mark = MARKED.exec(name)?.[1]
        if (readers === null || (mark !== undefined && readers.oldest.getTime() > Number(mark))) {
          await rm(path, { recursive: true, force: true })
          counts.deleted += 1
        } else if (mark === undefined) await rename(path, `${path}.after-${readers.newest.getTime()}`)
      }
    }
    return counts
  }

  /** Puts a broken mirror aside; the next caller that needs it fetches anew. */
  async discard(commit: MirroredCommit, signal: AbortSignal): Promise<void> {
    const gitDir = this.#pathOf(commit)
    await this.#alone(gitDir, signal, () => putAside(gitDir))
  }

  /** Returns the directory of the objects that have this id. */
  directoryOf(objects: string): string {
    return join(this.#directory, `${objects}.git`, 'objects')
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
      if (lock === undefined) throw new GitHostError('unavailable', 'another process has held the mirror for too long')
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

/** Returns the id under which sandboxes are shown the objects of a mirror. */
export const objectsOf = (gitDir: string): string => basename(gitDir, '.git')

const pin = (oid: string) => `refs/berth/base/${oid}`

async function lastUse(path: string): Promise<Date | undefined> {
  return (await stat(path).catch(() => undefined))?.mtime
}

/** Returns true if a commit was fetched whole and is still there with its tree. */
async function holds(gitDir: string, oid: string, signal: AbortSignal): Promise<boolean> {
  const args = ['rev-parse', '--verify', '--quiet', `${pin(oid)}^{tree}`]
  return (await runGit(args, { gitDir, exits: [0, 1, 128], signal })).exitCode === 0
}

/** Matches git's words for a failure of the other end or of the network, and not of the mirror. */
const ofTheOther = /unable to access|RPC failed|early EOF|hung up|timed out|Could not read from remote|remote error/i

/**
 * Fetches into a mirror. This git reads the host's data with the service's rights, because it needs the network and the
 * credential: it is bounded, but not confined.
 */
async function fill(
  gitDir: string,
  { host, repository, oid }: MirroredCommit,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  await prepare(gitDir, signal)
  if (oid === emptyTreeOid) {
    await runGit(['hash-object', '-t', 'tree', '-w', '--stdin'], { gitDir, input: '', signal })
    await runGit(['update-ref', pin(oid), oid], { gitDir, signal })
    return
  }
  const remote = await host.access(repository, 'read', signal)
  const quiet = ['--progress', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const args = ['fetch', ...quiet, ...transferOptions('fetch', remote), remote.url, `+${oid}:${pin(oid)}`]
  const report = progressReport()
  const progress = (line: string) => {
    const found = progressOf(line)
    if (found !== null) report(found)
  }
  try {
    const bounds = { memoryBytes: FETCH_MEMORY_BYTES, cpuSeconds: FETCH_MS / 1000, fileBytes: maxBytes }
    await withinDisk(gitDir, maxBytes, signal, within =>
      runGit(args, { gitDir, remote, bounds, signal: within, timeoutMs: FETCH_MS, progress }),
    )
  } catch (cause) {
    const over = cause instanceof GitError ? cause.bound : undefined
    if (cause instanceof DiskBoundError || over === 'file size') {
      // Earlier fetches go with it, since they may be the excess.
      await clearFetched(gitDir)
      await putAside(gitDir)
      throw new GitHostError('invalid', `the repository is larger than a mirror may be (${maxBytes} bytes)`, { cause })
    }
    if (over !== undefined && over !== 'time')
      throw new GitHostError('invalid', `fetching ${oid} went over a bound: ${over}`, { cause })
    if (!(cause instanceof GitError)) throw cause
    const gone = /not our ref|unadvertised object|no such remote ref/i.test(cause.stderr)
    if (!gone && cause.reason === 'exit' && !ofTheOther.test(cause.stderr)) await putAside(gitDir)
    throw new GitHostError(gone ? 'not_found' : gitErrorKind(cause.stderr), `could not fetch the commit ${oid}`, {
      cause,
    })
  }
}

const receiving =
  /^(Receiving|Unpacking|Resolving) (objects|deltas): +\d+% \((\d+)\/(\d+)\)(?:, ([\d.]+) (bytes|KiB|MiB|GiB))?/
const sizes: Readonly<Record<string, number>> = { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Reads a line of git's progress; null if it is about the other end. */
export function progressOf(line: string): Progress | null {
  const [, , unit, done, total, size, scale = 'bytes'] = receiving.exec(line) ?? []
  if (unit !== 'objects' && unit !== 'deltas') return null
  const bytes = size === undefined ? {} : { bytes: Math.round(Number(size) * (sizes[scale] ?? 1)) }
  return { unit, done: Number(done), total: Number(total), ...bytes }
}

/** Makes the repository if there is none that git recognises, and clears the rest of a killed fetch. */
async function prepare(gitDir: string, signal: AbortSignal): Promise<void> {
  const { exitCode } = await runGit(['rev-parse', '--git-dir'], { gitDir, exits: [0, 128], signal })
  if (exitCode !== 0) {
    await putAside(gitDir)
    await runGit(['init', '--bare', '--quiet', '--template=', '--shared=0644', gitDir], { signal })
  }
  await clearFetched(gitDir)
}

/** Removes the temporary files of a fetch that was ended. */
async function clearFetched(gitDir: string): Promise<void> {
  const packs = join(gitDir, 'objects/pack')
  for (const name of await readdir(packs).catch(() => [])) {
    if (name.startsWith('tmp_') || name.endsWith('.lock')) await rm(join(packs, name), { force: true })
  }
}

const ASIDE = '.git.aside-'
/** When the newest sandbox that may be reading it began, in milliseconds. */
const MARKED = /\.after-(\d+)$/

/** Renames a mirror; it cannot be deleted, because live sandboxes may still read from it. */
async function putAside(gitDir: string): Promise<void> {
  await rename(gitDir, gitDir.replace(/\.git$/, `${ASIDE}${randomUUID()}`)).catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
}
