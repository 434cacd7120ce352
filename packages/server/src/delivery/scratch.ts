import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A directory of the service's that goes with its use. */
export interface Scratch extends AsyncDisposable {
  readonly path: string
}

export async function openScratch(parent: string): Promise<Scratch> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(parent, 'delivery-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
