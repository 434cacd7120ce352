import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, chmod, constants, copyFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '../../linux/errors.ts'

const CLOSED_MODE = 0o111
const TEMPORARY_PREFIX = 'new-'
/** A copy that was begun longer ago than this belongs to a process that died over it. */
const STALE_MS = 3_600_000

/** A copy of Node that everybody may run and nobody may read. */
export interface ClosedNode {
  /** Returns its path, and makes it anew if a process of another release has cleared it away. */
  path(): Promise<string>
}

/**
 * Makes a copy of Node with mode 0111 below a directory. The kernel lets nobody trace a process that runs a program which
 * its user may not read, nor take its descriptors or open its memory, unless `fs.suid_dumpable` is 1. A file has one mode
 * for all its names, so it takes a copy (0.05 s and the size of Node on disk, once a boot).
 *
 * The copy is named for its source and for the boot: one that a crash of the host tore is never found again. Copies of
 * other sources are removed; mounts that show them keep them.
 *
 * @throws Error when the copy cannot be run, as on a file system mounted `noexec`
 */
export async function openClosedNode(dir: string, nodePath: string): Promise<ClosedNode> {
  const { size, mtimeMs, ino } = await stat(nodePath)
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
  const source = JSON.stringify([nodePath, size, mtimeMs, ino, boot])
  const name = createHash('sha256').update(source).digest('hex').slice(0, 16)
  const path = join(dir, name)
  const provide = async () => {
    if (!existsSync(path)) await makeCopy(nodePath, dir, path)
    return path
  }
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await clearOthers(dir, name)
  await provide()
  return { path: provide }
}

/** Replaces what may have come in between: of two processes that copy at once, the later's copy is as good. */
async function makeCopy(nodePath: string, dir: string, path: string): Promise<void> {
  const fresh = join(dir, TEMPORARY_PREFIX + randomUUID())
  try {
    await copyFile(nodePath, fresh, constants.COPYFILE_FICLONE)
    await chmod(fresh, CLOSED_MODE)
    await access(fresh, constants.X_OK)
    await rename(fresh, path)
  } catch (error) {
    await rm(fresh, { force: true })
    const advice = 'put BERTH_DATA_DIR on a file system with room that is not mounted noexec'
    throw new Error(`sandboxes need a copy of Node that runs from ${dir}: ${advice}`, { cause: error })
  }
}

async function clearOthers(dir: string, name: string): Promise<void> {
  for (const other of await readdir(dir)) {
    if (other === name) continue
    const path = join(dir, other)
    const made = other.startsWith(TEMPORARY_PREFIX) ? await ignoring(['ENOENT'], stat(path)) : undefined
    if (made === undefined || made.mtimeMs < Date.now() - STALE_MS) await rm(path, { force: true })
  }
}
