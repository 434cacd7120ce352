import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { asObject } from '@berth/platform/kit/json.ts'
import { readFrame, readSome, writeFrame } from '../line/frame.ts'
import { LineBroken } from '../line/line-error.ts'

/** Bounds of a directory that is taken: those of an unpacked extension, with what a file takes on disk besides. */
export interface DirectoryBounds {
  readonly bytes: number
  readonly entries: number
}

const MAX_ENTRY_BYTES = 8192
const BLOCK_BYTES = 4096

/** Sends a directory of files and directories: each one's name, then a file's bytes. Parents come first. */
export async function pushDirectory(directory: string, to: Duplex): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.map(entry => ({ entry, path: join(entry.parentPath, entry.name) }))
  for (const { entry, path } of paths.toSorted((one, other) => (one.path < other.path ? -1 : 1))) {
    const name = path.slice(directory.length + 1)
    if (entry.isDirectory()) writeFrame(to, { name })
    if (!entry.isFile()) continue
    const { size, mode } = await stat(path)
    writeFrame(to, { name, bytes: size, executable: (mode & 0o100) !== 0 })
    if (size > 0) await pipeline(createReadStream(path, { end: size - 1 }), to, { end: false })
  }
  writeFrame(to, null)
  to.end()
}

/**
 * Writes what `pushDirectory` has sent into an empty directory. Everybody may read the result.
 * @returns the bytes that it takes on disk
 * @throws LineBroken if a name leads elsewhere, or at a bound
 */
export async function takeDirectory(
  from: Duplex,
  directory: string,
  bounds: DirectoryBounds,
  signal: AbortSignal,
): Promise<number> {
  let taken = 0
  for (let entries = 0; ; entries++) {
    const frame = await readFrame(from, MAX_ENTRY_BYTES, signal)
    if (frame === null) break
    const { name, bytes, executable } = readEntry(frame)
    taken += BLOCK_BYTES + (bytes ?? 0)
    if (entries >= bounds.entries || taken > bounds.bytes) throw new LineBroken('a directory over its bound')
    const path = join(directory, name)
    if (bytes === undefined) {
      await mkdir(path)
      await chmod(path, 0o755)
      continue
    }
    await pipeline(Readable.from(exactly(from, bytes, signal)), createWriteStream(path, { flags: 'wx' }), { signal })
    await chmod(path, executable ? 0o555 : 0o444)
  }
  await chmod(directory, 0o755)
  return taken
}

function readEntry(frame: unknown): { name: string; bytes?: number; executable: boolean } {
  const { name, bytes, executable } = asObject(frame)
  const isName = typeof name === 'string' && !name.includes('\0') && !name.startsWith('/')
  if (!isName || name.split('/').some(part => part === '' || part === '.' || part === '..')) {
    throw new LineBroken('not the name of a file')
  }
  if (bytes === undefined) return { name, executable: false }
  if (!Number.isSafeInteger(bytes) || Number(bytes) < 0) throw new LineBroken('not the size of a file')
  return { name, bytes: Number(bytes), executable: executable === true }
}

async function* exactly(from: Duplex, bytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  let missing = bytes
  while (missing > 0) {
    const part = await readSome(from, missing, signal)
    missing -= part.length
    yield part
  }
}
