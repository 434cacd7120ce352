import { chmodSync, lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { type ClearJob, cacheStagingName, stagingName } from './protocol.ts'

/**
 * Removes everything from the current directory but the names to keep, or only the paths of a cache. The mark of an unfinished restore goes last, so
 * an interrupted clear starts again. Use it only for a restore's output: nothing else may write here meanwhile.
 */
export function clear({ keep, only, ifBegun = false }: Omit<ClearJob, 'kind'>): void {
  const mark = only === undefined ? stagingName : cacheStagingName
  if (ifBegun && lstatSync(mark, { throwIfNoEntry: false }) === undefined) return
  if (only !== undefined) {
    for (const path of [cacheStagingName, ...only]) remove(Buffer.from(path))
    return
  }
  const kept = new Set([...keep, stagingName])
  for (const name of readdirSync('.', { encoding: 'latin1' })) if (!kept.has(name)) remove(Buffer.from(name, 'latin1'))
  remove(Buffer.from(stagingName))
}

export function remove(path: Buffer): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isDirectory()) {
    unlinkSync(path)
    return
  }
  if ((stats.mode & 0o700) !== 0o700) chmodSync(path, 0o700)
  for (const name of readdirSync(path, { encoding: 'buffer' })) remove(Buffer.concat([path, Buffer.from('/'), name]))
  rmdirSync(path)
}
