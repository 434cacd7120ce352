import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from './system-errors.ts'

/**
 * Makes a directory that only its owner may enter, and those above it that are missing. `mkdir` with `recursive` takes an
 * ENOENT for a missing parent and so never ends below /proc, which answers that to everybody.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path)
  } catch (error) {
    const parent = dirname(path)
    if (errorCode(error) !== 'ENOENT' || parent === path) throw error
    await makeDirectory(parent)
    await makeOne(path)
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // A file system that can only be read may refuse before it looks whether the directory is there.
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() !== true) throw error
  }
}
