import { existsSync } from 'node:fs'
import type { BlobSettings } from '@berth/platform/settings/blob-store.ts'
import type { IdentifiedBlobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { S3Blobs } from '@berth/platform/storage/blobs/s3-blobs.ts'
import { requireNoOtherStore } from '@berth/platform/storage/blobs/store-identity.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Finding, failure, ok, reasonOf } from './finding.ts'

const quiet = { info() {}, warn() {}, error() {} }

/**
 * Checks that the blob store answers and belongs to the database. It marks nothing, and makes no directory.
 * @param db null if the database does not answer: then only a bucket is asked
 * @param spoolDirectory a directory that there is
 */
export async function examineBlobStore(
  { store }: BlobSettings,
  db: Queryable | null,
  spoolDirectory: string,
): Promise<Finding> {
  const place = store.kind === 'file' ? store.directory : `s3://${store.location.bucket}/${store.location.prefix}`
  if (store.kind === 'file' && !existsSync(store.directory)) {
    return ok('blob store', `${place}, which the first start makes`)
  }
  try {
    await using stack = new AsyncDisposableStack()
    let blobs: IdentifiedBlobs
    if (store.kind === 'file') blobs = await FileBlobs.open(store.directory)
    else blobs = stack.use(await S3Blobs.open(store.location, { spoolDirectory, log: quiet }))
    const marked = db !== null && (await requireNoOtherStore(db, blobs, place))
    return ok('blob store', `${place}${marked ? ', marked by this database' : ' answers'}`)
  } catch (error) {
    const next = store.kind === 'file' ? `ls -ld ${place}` : 'set BERTH_BLOBS and AWS_* (docs/settings.md)'
    return failure('blob store', reasonOf(error), next)
  }
}
