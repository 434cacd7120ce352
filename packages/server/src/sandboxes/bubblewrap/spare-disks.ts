import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, ignoring } from './errors.ts'
import { isMounted, makeLoopDisk, removeLoopDisk } from './loop-disk.ts'
import { processStartTime } from './marked-processes.ts'
import type { DriverLog } from './options.ts'

/**
 * Disks made ahead of demand, since `mkfs` and `mount` take longer than everything else in a create.
 *
 * States of a disk, each one a name in the spares directory: `making-<pid>-<start>-<n>` (left over once that process is
 * dead) -> `ready-<size>-<pid>-<start>-<n>` -> moved into a lease. Each step is one rename, which carries the mount
 * along and which only one process can win.
 */
export interface SpareDisks extends AsyncDisposable {
  /** Puts a disk at `dir`, which must not exist yet: a spare of that size, or one made now. */
  take(dir: string, sizeBytes: number): Promise<void>
  /** Starts making up for what was taken. Apart from taking, since it would slow down the create that took. */
  refill(): void
  /** Resolves when the spares wanted are there, or could not be made. */
  filled(): Promise<void>
}

/** Opens the spares directory, clears what dead processes left half-made and proves that a disk can be made. */
export async function openSpareDisks(options: {
  readonly dir: string
  readonly sizeBytes: number
  readonly wanted: number
  readonly log: DriverLog
}): Promise<SpareDisks> {
  const { dir, wanted, log } = options
  const sizeBytes = Math.floor(options.sizeBytes)
  const self = `${process.pid}-${await processStartTime(process.pid)}`
  let made = 0
  let closed = false
  await mkdir(dir, { recursive: true, mode: 0o700 })

  const ready = async (size: number) => (await readdir(dir)).filter(name => name.startsWith(`ready-${size}-`))
  const make = async () => {
    const name = `${self}-${made++}`
    const making = join(dir, `making-${name}`)
    try {
      await makeLoopDisk(making, sizeBytes)
      await rename(making, join(dir, `ready-${sizeBytes}-${name}`))
    } catch (error) {
      await removeLoopDisk(making)
      throw error
    }
  }
  const fill = async () => {
    while (!closed && (await ready(sizeBytes)).length < wanted) await make()
  }

  let filling: Promise<void> = Promise.resolve()
  const refill = (): void => {
    filling = filling.then(fill).catch((error: unknown) => log.warn({ err: error }, 'could not make a spare disk'))
  }

  for (const name of await readdir(dir)) {
    const [state, ...words] = name.split('-')
    const usable = state === 'ready' && Number(words[0]) === sizeBytes && (await isMounted(join(dir, name)))
    const alive = state === 'making' && (await processStartTime(Number(words[0]))) === words[1]
    if (!usable && !alive) await removeLoopDisk(join(dir, name))
  }
  if ((await ready(sizeBytes)).length === 0) await make()
  refill()

  return {
    async take(target, size) {
      for (const name of await ready(Math.floor(size))) {
        try {
          await rename(join(dir, name), target)
        } catch (error) {
          if (errorCode(error) === 'ENOENT') continue
          throw error
        }
        if (await isMounted(target)) return
        await removeLoopDisk(target)
      }
      await makeLoopDisk(target, size)
    },
    refill,
    async filled() {
      await filling
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await filling
      for (const name of await ready(sizeBytes)) {
        const ending = join(dir, `making-${self}-${made++}`)
        // Renamed first: another process may be about to take it.
        if (
          await ignoring(
            ['ENOENT'],
            rename(join(dir, name), ending).then(() => true),
          )
        )
          await removeLoopDisk(ending)
      }
    },
  }
}
