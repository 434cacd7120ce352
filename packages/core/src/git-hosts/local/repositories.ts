import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { GitHostError } from '../git-host.ts'

/** A bare repository of this machine, with its path. */
export interface LocalPath {
  readonly owner: string
  readonly name: string
  readonly gitDir: string
}

/** Allowed names of a repository and its owner; they keep `..` and hidden files out. */
const segment = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/

/**
 * Returns a page of the bare repositories `<root>/<owner>/<name>.git`, in the order of `owner/name`. They need no
 * registration: anyone who may write to the data directory puts them there. Links are not followed, so nothing outside
 * becomes a repository.
 * @param page.from `owner/name` after which the page begins
 * @returns `next` is the `from` of the next page
 */
export async function findRepositories(
  root: string,
  { limit, from }: { readonly limit: number; readonly from: string | null },
): Promise<{ readonly page: LocalPath[]; readonly next: string | null }> {
  const owners = await directories(root)
  const entries = await Promise.all(owners.map(owner => directories(join(root, owner))))
  const names = owners
    .flatMap((owner, at) => (entries[at] ?? []).filter(isBare).map(entry => `${owner}/${entry.slice(0, -4)}`))
    .filter(name => from === null || name > from)
    .toSorted()
  const shown = names.slice(0, limit)
  const page = await Promise.all(shown.map(name => localPath(root, ...(name.split('/') as [string, string]))))
  return { page: page.filter(path => path !== null), next: names.length > limit ? (shown.at(-1) ?? null) : null }
}

const isBare = (entry: string) => entry.endsWith('.git')

/** Returns the path of a repository; null if there is none. */
export async function localPath(root: string, owner: string, name: string): Promise<LocalPath | null> {
  if (!segment.test(owner) || !segment.test(name)) return null
  const gitDir = join(root, owner, `${name}.git`)
  for (const part of [join(root, owner), gitDir, join(gitDir, 'objects')]) {
    const stat = await lstat(part).catch(() => null)
    if (stat?.isDirectory() !== true) return null
  }
  return { owner, name, gitDir }
}

async function directories(path: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(path, { withFileTypes: true }).catch(unlessNotOurs)
  return entries.filter(entry => entry.isDirectory() && segment.test(entry.name)).map(entry => entry.name)
}

/** A directory that is gone or closed to the service holds nothing of its own. Any other fault must not look like that. */
function unlessNotOurs(cause: NodeJS.ErrnoException): [] {
  if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(cause.code ?? '')) return []
  throw new GitHostError('unavailable', 'the directory of the repositories cannot be read', { cause })
}
