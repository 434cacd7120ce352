import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, chmod, constants, copyFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

const CLOSED_MODE = 0o111
const TEMPORARY_PREFIX = 'new-'
/** An unfinished copy older than this belongs to a process that died. */
const STALE_MS = 3_600_000

/** A copy of Node that every user may run and none may read. */
export interface ClosedNode {
  /** Returns its path. Copies Node again if a process of another release removed the copy. */
  path(): Promise<string>
}

/**
 * Copies Node below a directory with mode 0111.
 *
 * If a user may not read a program, the kernel lets that user neither trace its processes, nor take their descriptors,
 * nor open their memory, unless `fs.suid_dumpable` is 1. A file has one mode for all its names, so this takes a copy
 * (0.05 s and the size of Node on disk, once per boot).
 *
 * The copy is named after its source and the boot, so a copy torn by a crash of the host is never used again. Copies of
 * other sources are removed; existing mounts keep them alive.
 * @throws Error if the copy cannot be run, for example on a file system mounted `noexec`
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

/** Replaces any existing copy: if two processes copy at once, either result will do. */
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
