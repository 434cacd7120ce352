import { isUtf8 } from 'node:buffer'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openLeft } from '../../git/own-repository.ts'
import { GitHostError } from '../git-host.ts'
import { git, gitBytes } from './local-git.ts'

/** The branch that HEAD names. HEAD that names a commit itself, or no UTF-8, has no branch. */
export interface LocalHead {
  readonly branch: string | null
  /** The branch has a commit. */
  readonly born: boolean
  /** Neither the branch nor any other ref exists. */
  readonly empty: boolean
}

const unreadable: LocalHead = { branch: null, born: false, empty: false }

/** Repositories of one list that git looks at side by side. */
const AT_ONCE = 8

/** A name that cannot lead out of the directory of branches. */
const plainName = /^(?!.*(?:^|\/)\.)[^\0\n]+$/

/**
 * Returns a repository's HEAD.
 * @throws GitHostError `unavailable` if git cannot read it
 */
export async function findHead(gitDir: string, signal: AbortSignal | undefined): Promise<LocalHead> {
  return (await readHead(gitDir)) ?? (await askHead(gitDir, signal))
}

/** Returns the HEADs of a list's repositories. One that git cannot read has no branch, and hides no other. */
export async function findHeads<T extends { readonly gitDir: string }>(
  repositories: readonly T[],
  signal: AbortSignal | undefined,
): Promise<[T, LocalHead][]> {
  const heads: [T, LocalHead][] = []
  const waiting = repositories.entries()
  const work = async () => {
    for (const [at, repository] of waiting) {
      const head = await findHead(repository.gitDir, signal).catch(error => {
        if (error instanceof GitHostError) return unreadable
        throw error
      })
      heads[at] = [repository, head]
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return heads
}

async function askHead(gitDir: string, signal: AbortSignal | undefined): Promise<LocalHead> {
  const bytes = await gitBytes(['symbolic-ref', '--quiet', 'HEAD'], { gitDir, exits: [0, 1], signal })
  const head = bytes.toString().replace(/\n$/, '')
  const isBranch = head.startsWith('refs/heads/')
  const branch = isBranch && isUtf8(bytes) ? head.slice('refs/heads/'.length) : null
  const verified = ['show-ref', '--verify', '--hash', '--', head]
  const born = branch !== null && (await git(verified, { gitDir, exits: [0, 1, 128], signal })) !== ''
  if (born) return { branch, born, empty: false }
  const ref = await git(['for-each-ref', '--count=1'], { gitDir, exits: [0], signal })
  return { branch, born, empty: isBranch && ref === '' }
}

/**
 * Reads a repository's HEAD from its files: a list describes many repositories at once, and a process of git for each
 * would take longer than a caller waits.
 * @returns undefined if only git can tell, for example because refs are kept in a reftable
 */
export async function readHead(gitDir: string): Promise<LocalHead | undefined> {
  const named = await readBytes(join(gitDir, 'HEAD'))
  if (named === undefined || !isUtf8(named)) return undefined
  const head = named.toString().trimEnd()
  if (isOid(head)) return { branch: null, born: false, empty: false }
  const branch = head.match(/^ref:\s*refs\/heads\/(.+)$/)?.[1]
  // A reftable has a HEAD that names a branch which git refuses.
  if (branch === undefined || !plainName.test(branch)) return undefined
  const loose = (await readBytes(join(gitDir, 'refs/heads', branch)))?.toString().trimEnd()
  if (loose !== undefined) return isOid(loose) ? { branch, born: true, empty: false } : undefined
  const packed = (await readBytes(join(gitDir, 'packed-refs')))?.toString() ?? ''
  const born = packed.includes(` refs/heads/${branch}\n`)
  return { branch, born, empty: !packed.includes(' refs/') && !(await hasLooseRefs(gitDir)) }
}

/** Returns true if a directory that cannot be read may hold a ref. */
async function hasLooseRefs(gitDir: string): Promise<boolean> {
  const entries = await readdir(join(gitDir, 'refs'), { recursive: true, withFileTypes: true }).catch(() => null)
  return entries?.some(entry => !entry.isDirectory()) ?? true
}

const isOid = (text: string) => /^[0-9a-f]{40}$/.test(text)

/** Returns the content of a file that is no link; undefined if there is none. */
async function readBytes(path: string): Promise<Buffer | undefined> {
  const file = await openLeft(path).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}
