import type { Clock } from '../../kit/clock.ts'
import { type CollectableBlobs, requireSha256 } from './blobs.ts'
import { DigestFilter } from './digest-filter.ts'

/*
 * Mark and sweep, in two steps at least one grace period apart. A sweep first sets unreferenced content aside, where
 * readers still find it. Only a later sweep that finds it still unreferenced discards it.
 *
 *   in its place, named                          stays
 *   in its place, not named, put within grace    stays
 *   in its place, not named, put before          is set aside
 *   aside, named                                 is brought back
 *   aside, not named, set aside within grace     stays aside
 *   aside, not named, set aside before           is discarded
 *
 * A store cannot delete "unless it was put again": S3 has no condition on the time, and the same content has the same
 * tag. So a put may always slip in between the check and the removal. This holds nevertheless: suppose content was put,
 * or `has` returned true for it, at time t, and a row names it from t + grace at the latest. Then it can be read as
 * long as the row stands.
 *
 *   1. Setting aside loses nothing: the content is whole at the side before it leaves its place, and readers look in
 *      both. So it can only be lost by being discarded.
 *   2. At t it was in its place: put writes there, and `has` looks only there. If it was taken away from there after t,
 *      it was set aside at some a >= t. A copy that was set aside earlier is a second one, and discarding that leaves the
 *      one in its place alone.
 *   3. A sweep whose marking began at m discards content that was set aside before m - grace. Then m > a + grace >=
 *      t + grace: the row was there before the marking began, the marking has seen it, and the sweep brings the content
 *      back instead.
 *
 * The proof rests on three assumptions. `named` sees every row committed before it was called. One sweep at a time
 * works on a store: the caller holds a lock and aborts when it loses the lock, so nothing is set aside between a look
 * at the side and a discard. The difference between the clocks of this process and the store, and the duration of a
 * multipart put, are small against the grace period.
 *
 * A sweep needs the memory of one filter, however many digests there are. A false positive keeps garbage until a later
 * sweep.
 */

/** Dependencies and limits of a sweep. */
export interface CollectOptions {
  readonly blobs: CollectableBlobs
  /** Yields every digest that a row names, directly or through a blob that it names. It may repeat digests. */
  named(): AsyncIterable<string>
  /** Grace period: longer than any command takes between putting content and naming it in a row. */
  readonly graceMs: number
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** Counts of a sweep, in blobs unless the name says bytes. */
export interface Collected {
  kept: number
  setAside: number
  broughtBack: number
  discarded: number
  discardedBytes: number
}

/** Concurrent requests to the store. */
const concurrency = 16

/**
 * Runs one sweep. If `named` or the store fails, the sweep ends with that error and has done no harm; the next sweep
 * continues.
 */
export async function collectBlobs(options: CollectOptions): Promise<Collected> {
  const { blobs, graceMs, clock, signal } = options
  const before = clock.now().getTime() - graceMs
  const marked = new DigestFilter()
  for await (const sha256 of options.named()) {
    signal?.throwIfAborted()
    marked.add(requireSha256(sha256))
  }

  const collected: Collected = { kept: 0, setAside: 0, broughtBack: 0, discarded: 0, discardedBytes: 0 }
  // Sweep the side first: this sweep must not look again at blobs that it sets aside itself.
  await forEach(blobs.listAside(), signal, async ({ sha256, sizeBytes, asideAt }) => {
    if (marked.has(sha256)) {
      await blobs.bringBack(sha256)
      collected.broughtBack += 1
    } else if (asideAt.getTime() < before) {
      await blobs.discard(sha256)
      collected.discarded += 1
      collected.discardedBytes += sizeBytes
    }
  })
  await forEach(blobs.list(), signal, async ({ sha256, putAt }) => {
    if (marked.has(sha256) || putAt.getTime() >= before) {
      collected.kept += 1
    } else {
      await blobs.setAside(sha256)
      collected.setAside += 1
    }
  })
  return collected
}

/** Works on a few items at once; throws a failure only after all work in progress has settled. */
async function forEach<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal | undefined,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let batch: Promise<void>[] = []
  const finish = async () => {
    await Promise.allSettled(batch)
    await Promise.all(batch)
    batch = []
  }
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      const working = work(item)
      // The work may fail while the next page is awaited, long before anyone awaits it.
      working.catch(() => undefined)
      batch.push(working)
      if (batch.length === concurrency) await finish()
    }
  } finally {
    await finish()
  }
}
