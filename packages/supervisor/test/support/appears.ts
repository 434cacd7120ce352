import { existsSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Resolves once the file exists; its directory must exist already. */
export async function appears(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const check = () => {
    if (existsSync(path)) resolve()
  }
  const watcher = watch(dirname(path), check)
  check()
  await promise
  watcher.close()
}
