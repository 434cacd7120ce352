import { join } from 'node:path'
import { openLeft } from '../../git/own-repository.ts'

/** The branch that HEAD names, and whether it has a commit. HEAD that names a commit itself has no branch. */
export interface LocalHead {
  readonly branch: string | null
  readonly born: boolean
}

/** A name that cannot lead out of the directory of branches. */
const plainName = /^(?!.*(?:^|\/)\.)[^\0\n]+$/

/**
 * Reads a repository's HEAD from its files: a list describes many repositories at once, and a process of git for each
 * would take longer than a caller waits.
 * @returns undefined if only git can tell, for example because refs are kept in a reftable
 */
export async function readHead(gitDir: string): Promise<LocalHead | undefined> {
  const head = (await readText(join(gitDir, 'HEAD')))?.trimEnd()
  if (head === undefined) return undefined
  if (isOid(head)) return { branch: null, born: false }
  const branch = head.match(/^ref:\s*refs\/heads\/(.+)$/)?.[1]
  // A reftable has a HEAD that names a branch which git refuses.
  if (branch === undefined || !plainName.test(branch)) return undefined
  const loose = (await readText(join(gitDir, 'refs/heads', branch)))?.trimEnd()
  if (loose !== undefined) return isOid(loose) ? { branch, born: true } : undefined
  const packed = (await readText(join(gitDir, 'packed-refs'))) ?? ''
  return { branch, born: packed.includes(` refs/heads/${branch}\n`) }
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
