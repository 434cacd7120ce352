import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { IdentifiedBlobs } from './blobs.ts'
import { FileBlobs } from './file-blobs.ts'
import { S3Blobs } from './s3-blobs.ts'
import { requireOwnStore } from './store-identity.ts'

let db: TestDatabase
let directory: string
const bucket = await startS3Server()
afterAll(() => bucket[Symbol.asyncDispose]())
beforeEach(async () => {
  db = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'berth-store-'))
})
afterEach(async () => {
  await db[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const files = (name: string) => FileBlobs.open(join(directory, name))
const objects = () => S3Blobs.open(bucket.location(), { spoolDirectory: directory, log: silentLog })
const stores: [string, (name: string) => Promise<IdentifiedBlobs>][] = [
  ['a directory', files],
  ['a bucket', objects],
]

describe.each(stores)('%s', (_kind, make) => {
  test('is marked by the first start, found by all that follow or start at once, and refused to another database', async () => {
    const blobs = await make('blobs')
    await Promise.all(Array.from({ length: 4 }, () => requireOwnStore(db.database, blobs, 'here')))
    await (await requireOwnStore(db.database, blobs, 'here')).check()

    await using second = await createTestDatabase()
    await second.database.query('update deployment set blob_store = gen_random_uuid()')
    await expect(requireOwnStore(second.database, blobs, 'here')).rejects.toThrow(
      /^BERTH_BLOBS: here is marked .* and belongs to another database; the store of this one is marked .*: give every process on this database the same BERTH_BLOBS/,
    )
  })

  test('is refused without a mark if the database has marked another store', async () => {
    await requireOwnStore(db.database, await make('blobs'), 'here')
    const other = await make('other')
    await expect(requireOwnStore(db.database, other, 'there')).rejects.toThrow(
      'BERTH_BLOBS: there is not the blob store of this database',
    )
    expect(await other.identity()).toBeUndefined()
  })
})

test('the next start completes one that died between its two writes', async () => {
  const blobs = await files('blobs')
  await requireOwnStore(db.database, blobs, 'here')
  await db.database.query('update deployment set blob_store_seen = false')
  await requireOwnStore(db.database, blobs, 'here')
  expect(await readdir(join(directory, 'blobs', 'tmp'))).toEqual([])
})

test('a running process notices that its directory was swapped', async () => {
  const store = await requireOwnStore(db.database, await files('blobs'), 'here')
  await rename(join(directory, 'blobs'), join(directory, 'gone'))
  await files('blobs')
  await expect(store.check()).rejects.toThrow('here is not the blob store of this database')
})

test('the error names a bucket that cannot be reached', async () => {
  const location = bucket.location()
  const blobs = await S3Blobs.open(location, { spoolDirectory: directory, log: silentLog })
  await bucket.stop()
  try {
    await expect(requireOwnStore(db.database, blobs, 'here')).rejects.toThrow('BERTH_BLOBS: here cannot be used')
  } finally {
    await bucket.resume()
  }
})
