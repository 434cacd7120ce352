import { randomBytes, randomUUID } from 'node:crypto'
import { link, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartError } from '../../kit/start-error.ts'
import { parseMasterKey } from '../master-key.ts'
import { syncDirectory } from '../sync-directory.ts'

/**
 * Reads the key file; returns undefined if there is none.
 * @throws StartError if it holds no key, or other users may read it
 */
export async function readKeyFile(path: string): Promise<Buffer | undefined> {
  const found = await stat(path).catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return undefined
  if ((found.mode & 0o077) !== 0) throw new StartError(`the master key ${path} is open to other users: chmod 600 it`)
  const key = parseMasterKey((await readFile(path, 'utf8')).trim())
  if (key === undefined) throw new StartError(`the master key ${path} is not 32 bytes in base64 or hexadecimal digits`)
  return key
}

/** Makes the key file beside its place and links it there. If another process was first, both read the same key. */
export async function makeKeyFile(path: string): Promise<Buffer> {
  const temporary = `${path}.${randomUUID()}`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(`${randomBytes(32).toString('base64')}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(temporary, path).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncDirectory(dirname(path))
  const key = await readKeyFile(path)
  if (key === undefined) throw new StartError(`the master key ${path} vanished while it was made`)
  return key
}
