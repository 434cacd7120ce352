import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** No step of a delivery lasts nearly as long. */
const STALE_MS = 24 * 60 * 60_000

/** A directory of the service's that goes with its use. */
export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/** Makes one below a directory that the processes of a host share. */
export async function openScratch(parent: string): Promise<Scratch> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(parent, 'delivery-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Removes what processes that were killed have left; one that lives may be using what is younger. */
export async function clearScratch(parent: string, now: Date): Promise<void> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const name of await readdir(parent)) {
    const path = join(parent, name)
    // Another process may have just removed it.
    const { mtimeMs } = (await stat(path).catch(() => null)) ?? { mtimeMs: now.getTime() }
    if (now.getTime() - mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true })
  }
}
