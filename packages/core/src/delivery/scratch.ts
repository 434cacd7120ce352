import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Age of scratch that nobody uses any more: no step of a delivery lasts nearly as long. */
const STALE_MS = 24 * 60 * 60_000

/** A directory of the service that is deleted after its use. */
export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/** Makes one below a directory that the processes of a host share. */
export async function openScratch(parent: string): Promise<Scratch> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(parent, 'delivery-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Deletes the scratch that killed processes have left; a live process may still use younger scratch. */
export async function clearScratch(parent: string, now: Date): Promise<void> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const name of await readdir(parent)) {
    const path = join(parent, name)
    // Another process may have just removed it.
    const { mtimeMs } = (await stat(path).catch(() => null)) ?? { mtimeMs: now.getTime() }
    if (now.getTime() - mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true })
  }
}
