import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openLeft } from '../../git/own-repository.ts'
import { git } from './local-git.ts'

/** The branch that HEAD names. HEAD that names a commit itself has no branch. */
export interface LocalHead {
  readonly branch: string | null
  /** The branch has a commit. */
  readonly born: boolean
  /** Neither the branch nor any other ref exists. */
  readonly empty: boolean
}

/** A name that cannot lead out of the directory of branches. */
const plainName = /^(?!.*(?:^|\/)\.)[^\0\n]+$/

/**
 * Returns a repository's HEAD.
 * @throws GitHostError `unavailable` if git cannot read it
 */
export async function findHead(gitDir: string, signal: AbortSignal | undefined): Promise<LocalHead> {
  return (await readHead(gitDir)) ?? (await askHead(gitDir, signal))
}

async function askHead(gitDir: string, signal: AbortSignal | undefined): Promise<LocalHead> {
  const head = await git(['symbolic-ref', '--quiet', 'HEAD'], { gitDir, exits: [0, 1], signal })
  const branch = head.startsWith('refs/heads/') ? head.slice('refs/heads/'.length) : null
  const verified = ['show-ref', '--verify', '--hash', '--', head]
  const born = branch !== null && (await git(verified, { gitDir, exits: [0, 1, 128], signal })) !== ''
  const ref = await git(['for-each-ref', '--count=1'], { gitDir, exits: [0], signal })
  return { branch, born, empty: branch !== null && ref === '' }
}

/**
 * Reads a repository's HEAD from its files: a list describes many repositories at once, and a process of git for each
 * would take longer than a caller waits.
 * @returns undefined if only git can tell, for example because refs are kept in a reftable
 */
export async function readHead(gitDir: string): Promise<LocalHead | undefined> {
  const head = (await readText(join(gitDir, 'HEAD')))?.trimEnd()
  if (head === undefined) return undefined
  if (isOid(head)) return { branch: null, born: false, empty: false }
  const branch = head.match(/^ref:\s*refs\/heads\/(.+)$/)?.[1]
  // A reftable has a HEAD that names a branch which git refuses.
  if (branch === undefined || !plainName.test(branch)) return undefined
  const loose = (await readText(join(gitDir, 'refs/heads', branch)))?.trimEnd()
  if (loose !== undefined) return isOid(loose) ? { branch, born: true, empty: false } : undefined
  const packed = (await readText(join(gitDir, 'packed-refs'))) ?? ''
  const born = packed.includes(` refs/heads/${branch}\n`)
  return { branch, born, empty: !packed.includes(' refs/') && !(await hasLooseRefs(gitDir)) }
}

/** Returns true if a directory that cannot be read may hold a ref. */
async function hasLooseRefs(gitDir: string): Promise<boolean> {
  const entries = await readdir(join(gitDir, 'refs'), { recursive: true, withFileTypes: true }).catch(() => null)
  return entries?.some(entry => !entry.isDirectory()) ?? true
}

const isOid = (text: string) => /^[0-9a-f]{40}$/.test(text)

/** Returns the text of a file that is no link; undefined if there is none. */
async function readText(path: string): Promise<string | undefined> {
  const file = await openLeft(path).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
