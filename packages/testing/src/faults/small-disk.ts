import { mkdir, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, ignoring } from '@berth/platform/kit/system-errors.ts'
import { runProgram } from '@berth/sandboxes/linux/run-program.ts'

/** A file system of its own below a directory, so that a test can leave no room on it. */
export class SmallDisk implements AsyncDisposable {
  readonly path: string
  /** When it last had no room, by `performance.now()`. */
  fullAt = Number.NEGATIVE_INFINITY
  readonly #image: string

  /** Makes `<path>.img` and mounts it at `path`. */
  static async at(path: string, sizeBytes: number): Promise<SmallDisk> {
    const image = `${path}.img`
    await mkdir(path)
    const handle = await open(image, 'wx', 0o600)
    await handle.truncate(sizeBytes)
    await handle.close()
    await runProgram('mkfs.ext4', ['-q', '-F', '-m', '0', image])
    await runProgram('mount', ['-t', 'ext4', '-o', 'loop,discard', image, path])
    return new SmallDisk(path, image)
  }

  private constructor(path: string, image: string) {
    this.path = path
    this.#image = image
  }

  /** Leaves no room for a time. */
  async fill(ms: number): Promise<void> {
    const filler = join(this.path, 'filler')
    try {
      const { bavail, bsize } = await statfs(this.path)
      await ignoring(
        ['ENOSPC'],
        runProgram('fallocate', ['--length', String(bavail * bsize), filler]).catch(() => undefined),
      )
      await writeToTheEnd(`${filler}-2`)
      this.fullAt = Number.POSITIVE_INFINITY
      await sleep(ms)
    } finally {
      for (const path of [filler, `${filler}-2`]) await rm(path, { force: true })
      this.fullAt = performance.now()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runProgram('umount', [this.path])
    await rm(this.#image)
  }
}

async function writeToTheEnd(path: string): Promise<void> {
  const block = Buffer.alloc(64 * 1024)
  const handle = await open(path, 'w')
  try {
    for (;;) await handle.write(block)
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error
  } finally {
    await handle.close()
  }
}
