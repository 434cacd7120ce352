import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Between two looks; what is written in that time is beyond the bound. */
const LOOK_MS = 250

/** What helper programs wrote below a directory went over its bound. */
export class DiskBoundError extends Error {
  override readonly name = 'DiskBoundError'
}

/**
 * Does work that writes below a directory, and ends it by its signal once more than `bytes` are in use there.
 *
 * A file system of its own would be the better bound, but takes longer to make than most of this work.
 * @throws DiskBoundError, or what the work throws
 */
export async function withinDisk<T>(
  directory: string,
  bytes: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const done = new AbortController()
  const watching = (async () => {
    while (!done.signal.aborted) {
      if ((await usedBytes(directory)) > bytes)
        return over.abort(new DiskBoundError(`over the bound of ${bytes} bytes`))
      await sleep(LOOK_MS, undefined, { signal: done.signal, ref: false }).catch(() => undefined)
    }
    // A directory that cannot be read is one that nobody bounds.
  })().catch((error: unknown) => over.abort(error))
  try {
    return await work(AbortSignal.any([signal, over.signal]))
  } finally {
    done.abort()
    await watching
  }
}

/** Blocks in use below a directory; what vanishes meanwhile counts for nothing. */
export async function usedBytes(directory: string): Promise<number> {
  let used = 0
  const entries = await opendir(directory).catch(() => null)
  if (entries === null) return 0
  for await (const entry of entries) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) used += await usedBytes(path)
    else used += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512
  }
  return used
}
