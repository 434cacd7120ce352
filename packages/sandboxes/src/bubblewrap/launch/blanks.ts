import { mkdir, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SandboxBounds } from '../../driver.ts'
import type { DriverLog } from '../../leases/driver-log.ts'
import { processStartTime } from '../../linux/process-start-time.ts'
import { type Blank, type BlankResources, makeBlank, removeBlank } from './blank.ts'

/** Blanks made ahead of demand. */
export interface Blanks extends AsyncDisposable {
  /** Returns a blank with these bounds, ready or made now. The caller owns it. */
  take(bounds: SandboxBounds): Promise<Blank>
  /** Takes back an unused blank. */
  discard(blank: Blank): Promise<void>
  /** Starts to replace taken blanks. It is separate from `take` because it would slow down the create in progress. */
  refill(): void
  /** Resolves when the wanted blanks exist or could not be made. */
  filled(): Promise<void>
}

export interface BlanksOptions extends BlankResources {
  readonly dir: string
  readonly bounds: SandboxBounds
  readonly wanted: number
  readonly log: DriverLog
}

/** Returns a new path for what this process makes among the blanks. If the process dies, a later one removes it. */
export async function blankDirectory(dir: string, name: string): Promise<string> {
  // Two drivers in one process may share the directory.
  const unique = Math.random().toString(36).slice(2, 8)
  return join(dir, `${process.pid}-${await processStartTime(process.pid)}-${name}-${unique}`)
}

/**
 * Opens the directory of blanks, removes those of dead processes and proves that one can be made. A blank belongs to
 * the process that made it, so its name is `<pid>-<start time>-<n>`.
 */
export async function openBlanks(options: BlanksOptions): Promise<Blanks> {
  const { dir, bounds, wanted, log } = options
  const ready: Blank[] = []
  let made = 0
  let closed = false
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const name of await readdir(dir)) {
    const [pid, start] = name.split('-')
    if ((await processStartTime(Number(pid))) !== start) await removeBlank(options, join(dir, name))
  }

  const make = async (requested: SandboxBounds) => {
    const path = await blankDirectory(dir, String(made++))
    return makeBlank(options, path, basename(path), requested)
  }
  const discard = async (blank: Blank) => {
    blank.socket.destroy()
    blank.userNamespace?.release()
    await removeBlank(options, blank.files.dir)
  }
  const fill = async () => {
    while (!closed && ready.length < wanted) ready.push(await make(bounds))
  }
  let filling: Promise<void> = Promise.resolve()
  const refill = (): void => {
    filling = filling.then(fill).catch((error: unknown) => {
      log.warn({ err: error }, 'could not prepare a sandbox ahead of demand')
    })
  }
  const first = await make(bounds)
  if (wanted > 0) ready.push(first)
  else await discard(first)
  refill()

  return {
    async take(requested) {
      // The size of a disk is fixed; `limit` adjusts the other bounds.
      while (!options.loopDisks || Math.floor(requested.diskBytes) === Math.floor(bounds.diskBytes)) {
        const blank = ready.pop()
        if (blank === undefined) break
        const alive = blank.shell.exitCode === null && blank.shell.signalCode === null && !blank.socket.destroyed
        if (!alive) {
          await discard(blank)
          continue
        }
        try {
          options.cgroups?.limit(blank.group, requested)
          return blank
        } catch (error) {
          await discard(blank)
          throw error
        }
      }
      return make(requested)
    },
    discard,
    refill,
    async filled() {
      await filling
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await filling
      for (const blank of ready.splice(0)) await discard(blank)
    },
  }
}
