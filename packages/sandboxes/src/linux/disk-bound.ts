import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The interval between checks; writes within it may exceed the bound. */
const POLL_MS = 250

/** Helper programs wrote more below a directory than its bound allows. */
export class DiskBoundError extends Error {
  override readonly name = 'DiskBoundError'
}

/**
 * Runs work that writes below a directory, and aborts its signal when more than `bytes` are in use there. A separate
 * file system would be a stricter bound, but takes longer to make than most of this work.
 * @throws DiskBoundError, or the work's own error
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
      await sleep(POLL_MS, undefined, { signal: done.signal, ref: false }).catch(() => undefined)
    }
    // A directory that cannot be read cannot be bounded either, so the work must stop.
  })().catch((error: unknown) => over.abort(error))
  try {
    return await work(AbortSignal.any([signal, over.signal]))
  } finally {
    done.abort()
    await watching
  }
}

/** Returns the bytes in use below a directory. Files that vanish meanwhile count as 0. */
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
