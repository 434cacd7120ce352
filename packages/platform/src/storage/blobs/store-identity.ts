import { StartError, toStartError } from '../../kit/start-error.ts'
import type { Queryable } from '../postgres/database.ts'
import { BlobsUnavailable, type IdentifiedBlobs, StorageFull } from './blobs.ts'

/** Checks that a blob store is the one whose blobs the database's rows name. */
export interface StoreIdentity {
  /**
   * Asks the store for its identity again.
   * @throws Error if the store cannot be reached, or is another one by now
   */
  check(): Promise<void>
}

/**
 * Makes sure that this process uses the blob store of its database. The first start marks the store with an identity
 * that the database chose; every later start must find it there.
 * @param place the operator's name for the store
 * @throws StartError if the store belongs to another database, or is not the one that was marked
 */
export async function requireOwnStore(db: Queryable, blobs: IdentifiedBlobs, place: string): Promise<StoreIdentity> {
  const { rows } = await db.query<{ expected: string; seen: boolean }>(
    'select blob_store::text as expected, blob_store_seen as seen from deployment',
  )
  const [row] = rows
  if (row === undefined) throw new StartError('the table deployment has lost its row: restore the database')
  const { expected, seen } = row
  const found = await readOrMark(blobs, seen ? undefined : expected).catch(error => {
    if (error instanceof BlobsUnavailable || error instanceof StorageFull) {
      throw new StartError(`BERTH_BLOBS: ${place} cannot be used: ${error.message}`, { cause: error })
    }
    throw toStartError(error, `BERTH_BLOBS: ${place} cannot be used`)
  })
  if (found !== expected) throw new StartError(`BERTH_BLOBS: ${place} ${describe(found, expected)}`)
  // Record the mark last: if a start dies before this, the next one may still write the mark.
  if (!seen) await db.query('update deployment set blob_store_seen = true')
  return {
    async check() {
      const now = await blobs.identity()
      if (now !== expected) throw new Error(`${place} ${describe(now, expected)}`)
    },
  }
}

/**
 * Checks as `requireOwnStore` does, but marks nothing.
 * @returns true if the store is marked, false if the next start marks it
 * @throws StartError if the store belongs to another database, or is not the one that was marked
 */
export async function requireNoOtherStore(db: Queryable, blobs: IdentifiedBlobs, place: string): Promise<boolean> {
  const { rows } = await db.query<{ expected: string; seen: boolean }>(
    'select blob_store::text as expected, blob_store_seen as seen from deployment',
  )
  const found = await blobs.identity()
  const [row] = rows
  if (row === undefined || (found === undefined && !row.seen)) return false
  if (found !== row.expected) throw new StartError(`BERTH_BLOBS: ${place} ${describe(found, row.expected)}`)
  return true
}

/**
 * Reads the identity, or writes one.
 * @param mark the identity to write into a store that has none; undefined writes nothing
 */
async function readOrMark(blobs: IdentifiedBlobs, mark: string | undefined): Promise<string | undefined> {
  const found = await blobs.identity()
  if (found !== undefined || mark === undefined) return found
  await blobs.identify(mark)
  // Another database may have been first.
  return blobs.identity()
}

function describe(found: string | undefined, expected: string): string {
  const remedy = 'give every process on this database the same BERTH_BLOBS (docs/operations.md)'
  return found === undefined
    ? `is not the blob store of this database, which is marked ${expected}: ${remedy}`
    : `is marked ${found} and belongs to another database; the store of this one is marked ${expected}: ${remedy}`
}
