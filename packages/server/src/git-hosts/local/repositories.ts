import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** A bare repository of this machine, with its path. */
export interface LocalPath {
  readonly owner: string
  readonly name: string
  readonly gitDir: string
}

/** Allowed names of a repository and its owner; they keep `..` and hidden files out. */
const segment = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/

/**
 * Lists the bare repositories `<root>/<owner>/<name>.git`, in order. They need no registration: anyone who may write to
 * the data directory puts them there. Links are not followed, so nothing outside becomes a repository.
 */
export async function findRepositories(root: string): Promise<LocalPath[]> {
  const found: LocalPath[] = []
  for (const owner of await directories(root)) {
    for (const entry of await directories(join(root, owner))) {
      const path = await localPath(root, owner, entry.replace(/\.git$/, ''))
      if (entry.endsWith('.git') && path !== null) found.push(path)
    }
  }
  return found
}

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
  const entries: Dirent[] = await readdir(path, { withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isDirectory() && segment.test(entry.name))
    .map(entry => entry.name)
    .toSorted()
}
