import { buffer } from 'node:stream/consumers'
import type { Log } from '@berth/platform/kit/log.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { BlobsUnavailable, StorageFull } from '@berth/platform/storage/blobs/blobs.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { Context } from '../../context.ts'
import { sealEvents } from '../../sealed-logs/page-sql.ts'
import { packPage, unpackPage } from '../../sealed-logs/page-text.ts'
import { findSealable, listUnsealed, noteSealed, type Sealable } from './seal-sql.ts'

/** Bounds of a page: a reader of any of its Events reads it whole. */
const PAGE = { events: 1000, bytes: 1024 * 1024 }
const FOUND_AT_ONCE = 100
/** Logs that are sealed at the same time: each waits for the blob store most of its time. */
const AT_ONCE = 4

type Sealing = Pick<Context, 'db' | 'blobs'>

/**
 * Moves the logs of Sessions that were archived before a time into the blob store, page by page.
 * @param signal ends the work between two pages
 * @returns the number of Events that were moved
 * @throws DatabaseUnavailable, BlobsUnavailable, StorageFull; a log that cannot be sealed for another reason is passed over
 */
export async function sealLogs(
  context: Sealing & { readonly log: Log },
  before: Date,
  signal: AbortSignal,
): Promise<number> {
  let sealed = 0
  for (let after: Sealable | null = null; ; ) {
    const found: readonly Sealable[] = await findSealable(context.db, before, after, FOUND_AT_ONCE)
    const waiting = found.values()
    let failure: unknown
    const work = async () => {
      for (const key of waiting) {
        if (failure !== undefined) return
        try {
          const moved = await sealLog(context, key, signal)
          sealed += moved
        } catch (error) {
          if (stopsAll(error) || signal.aborted) failure = error
          else context.log.error({ err: error, session: key.sessionId }, 'a log could not be sealed')
        }
      }
    }
    // All have ended before this does: another process may hold the chore then.
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    if (failure !== undefined) throw failure
    after = found.at(-1) ?? null
    if (found.length < FOUND_AT_ONCE) return sealed
  }
}

const stopsAll = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable || error instanceof BlobsUnavailable || error instanceof StorageFull

/**
 * Seals a log but for its newest Event. A page is stored and read back before its rows go, and they go in the transaction
 * that names the page. So a crash before it leaves a blob that nothing names, and the next round puts the same one; a crash
 * after it leaves nothing to do. Two processes that seal the same log get in each other's way, and one fails.
 * @returns the number of its Events that were moved
 */
export async function sealLog({ db, blobs }: Sealing, key: SessionKey, signal: AbortSignal): Promise<number> {
  for (let sealed = 0; ; ) {
    signal.throwIfAborted()
    const events = await listUnsealed(db, key, PAGE)
    const last = events.at(-1)
    if (last === undefined) {
      await noteSealed(db, key)
      return sealed
    }
    const packed = await packPage(events.map(({ envelope }) => envelope))
    const blob = await blobs.put(packed.bytes)
    await unpackPage({ bytes: await buffer(await blobs.get(blob.sha256)), textSha256: packed.textSha256 })
    await sealEvents(db, key, { through: last.sequence, blob, textSha256: packed.textSha256 })
    sealed += events.length
  }
}
