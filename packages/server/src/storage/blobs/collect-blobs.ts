import type { Clock } from '../../kit/clock.ts'
import { type CollectableBlobs, requireSha256 } from './blobs.ts'
import { DigestFilter } from './digest-filter.ts'

/*
 * Mark and sweep, in two steps that lie at least one grace apart: content that nothing names is first set aside, where
 * it can still be read, and only a later sweep that finds it still unnamed discards it.
 *
 *   in its place, named                          stays
 *   in its place, not named, put within grace    stays
 *   in its place, not named, put before          is set aside
 *   aside, named                                 is brought back
 *   aside, not named, set aside within grace     stays aside
 *   aside, not named, set aside before           is discarded
 *
 * A store cannot delete "unless it was put again": S3 has no condition on the time, and the same content has the same
 * tag. So a put may always slip in between the look and the removal. What holds nevertheless: content that was put, or
 * that `has` was true for, at the time t, and that a row names from t + grace at the latest, can be read as long as the
 * row stands.
 *
 *   1. Setting aside loses nothing: the content is whole at the side before it leaves its place, and readers look in
 *      both. So it can only be lost by being discarded.
 *   2. At t it was in its place: put writes there, and `has` looks only there. If it was taken away from there after t,
 *      it was set aside at some a >= t. Whatever was set aside earlier is a second copy, and discarding that leaves the
 *      one in its place alone.
 *   3. A sweep whose marking began at m discards what was set aside before m - grace. Then m > a + grace >= t + grace:
 *      the row was there before the marking began, the marking has seen it, and the content is brought back instead.
 *
 * It rests on three things. `named` sees every row committed before it was called. One sweep at a time works on a store
 * (the caller holds a lock, and aborts when it loses that), so that nothing is set aside anew between a look at the side
 * and a discard. The clocks of this process and of the store differ, and a put in parts takes, by little against the
 * grace.
 *
 * Memory is that of one filter, however many digests there are. Its rare mistakes keep garbage until a later sweep.
 */

/** What a sweep works with. */
export interface CollectOptions {
  readonly blobs: CollectableBlobs
  /** Every digest that a row names, or that is named by a blob that a row names; repetitions do no harm. */
  named(): AsyncIterable<string>
  /** Longer than anything takes from putting content to naming it. */
  readonly graceMs: number
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** What a sweep did, in blobs. */
export interface Collected {
  kept: number
  setAside: number
  broughtBack: number
  discarded: number
  discardedBytes: number
}

/** Requests to the store at once. */
const concurrency = 16

/**
 * One sweep. Where `named` or the store fails it ends with that error, having done no harm; the next one goes on.
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
  // The side first: what this sweep sets aside it must not look at again.
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

/** Works on a few at once; a failure is thrown only when nothing is under way any more. */
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
      // It may fail while the next page is awaited, long before anyone looks.
      working.catch(() => undefined)
      batch.push(working)
      if (batch.length === concurrency) await finish()
    }
  } finally {
    await finish()
  }
}
