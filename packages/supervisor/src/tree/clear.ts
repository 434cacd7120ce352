import { chmodSync, lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { stagingName } from './protocol.ts'

/**
 * Removes everything from the current directory but the names to keep; the mark of an unfinished restore goes last, so
 * that a clearing cut short is begun again. Only for what a restore wrote: nothing else may be writing here.
 */
export function clear(keep: readonly string[]): void {
  const kept = new Set([...keep, stagingName])
  for (const name of readdirSync('.', { encoding: 'latin1' })) if (!kept.has(name)) remove(Buffer.from(name, 'latin1'))
  remove(Buffer.from(stagingName))
}

function remove(path: Buffer): void {
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
