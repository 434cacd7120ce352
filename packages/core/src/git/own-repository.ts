import { constants } from 'node:fs'
import { chmod, chown, type FileHandle, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { HelperBounds } from '@berth/sandboxes/helper-bounds.ts'
import { runGit } from './run-git.ts'
import type { GitView } from './start-git.ts'

/** A bare repository in a scratch directory, without anybody's configuration, that borrows the objects of others. */
export interface OwnRepository {
  readonly gitDir: string
  /** Directory of its packs; the view's user owns it. */
  readonly packs: string
  /** View of a git that reads it and the objects that it borrows. */
  readonly view: GitView
}

/**
 * Makes one in a directory, without the cost of `git init`.
 * @param borrowed object directories
 */
export async function openOwnRepository(
  directory: string,
  borrowed: readonly string[],
  user: Pick<GitView, 'uid' | 'bwrap'>,
): Promise<OwnRepository> {
  const gitDir = join(directory, 'own.git')
  const packs = join(gitDir, 'objects/pack')
  // Its user reads it; the directories above keep everybody else out.
  for (const path of [gitDir, ...['objects', 'objects/info', 'objects/pack', 'refs'].map(at => join(gitDir, at))]) {
    await mkdir(path)
    await chmod(path, 0o755)
  }
  const files = {
    HEAD: 'ref: refs/heads/none\n',
    // Nobody reads it once its directory is gone, so a sync would protect nothing.
    config: '[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsync = none\n',
    'objects/info/alternates': borrowed.map(path => `${path}\n`).join(''),
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(gitDir, name), text)
    await chmod(join(gitDir, name), 0o644)
  }
  if (user.uid !== undefined) await chown(packs, user.uid, user.uid)
  return { gitDir, packs, view: { ...user, reads: [gitDir, ...borrowed], writes: [] } }
}

const packName = /^pack-[0-9a-f]{40}\.pack$/

/**
 * Takes a pack into a repository; git starts at once, reads every object of the input and names it by its content.
 * @param options.strict checks objects as `git fsck` would, and that no object they name is missing
 * @param options.timeoutMs bounds all of it, the wait for input included; without it the bound of any git holds
 * @returns the pack's path; its index lies beside it
 * @throws GitError, or the signal's reason
 */
export async function takePack(
  { gitDir, packs, view }: OwnRepository,
  input: Readable,
  options: {
    readonly strict: boolean
    readonly bounds: HelperBounds
    readonly timeoutMs?: number
    readonly signal?: AbortSignal
  },
): Promise<string> {
  const { strict, bounds, timeoutMs, signal } = options
  await runGit(['index-pack', ...(strict ? ['--strict'] : []), '--stdin'], {
    gitDir,
    input,
    bounds,
    view: { ...view, writes: [packs] },
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(signal && { signal }),
  })
  const name = (await readdir(packs)).find(file => packName.test(file))
  if (name === undefined) throw new Error('index-pack left no pack')
  return join(packs, name)
}

/** Opens a file that a confined program has left, without following a link. */
export async function openLeft(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error('a confined program left a path that is not a regular file')
}
