import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blobsContract, entries } from '@berth/testing/storage/blobs-contract.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StorageFull } from './blobs.ts'
import { FileBlobs } from './file-blobs.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-blobs-'))
})
afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

describe('the contract', () => {
  blobsContract({
    make: () => FileBlobs.open(directory),
    corrupt: sha256 => writeFile(join(directory, sha256.slice(0, 2), sha256.slice(2)), 'altered'),
  })
})

test('leaves no temporary file and removes those of long dead puts', async () => {
  const blobs = await FileBlobs.open(directory)
  const old = join(directory, 'tmp', 'old')
  await writeFile(old, 'half')
  await utimes(old, 1, 1)
  await writeFile(join(directory, 'tmp', 'young'), 'half')
  await blobs.put(Buffer.from('x'))
  await FileBlobs.open(directory)
  expect(await readdir(join(directory, 'tmp'))).toEqual(['young'])
})

describe.runIf(process.getuid?.() === 0)('on a full disk', () => {
  let disk: string

  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), 'berth-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'berth-test', disk])
  })
  afterAll(async () => {
    execFileSync('umount', [disk])
    await rm(disk, { recursive: true })
  })

  test('a put throws StorageFull and leaves nothing, and smaller puts still succeed', async () => {
    await mkdir(join(disk, 'blobs'))
    const blobs = await FileBlobs.open(join(disk, 'blobs'))
    await expect(blobs.put(randomBytes(4 * 1024 * 1024))).rejects.toBeInstanceOf(StorageFull)
    expect(await readdir(join(disk, 'blobs', 'tmp'))).toEqual([])
    await blobs.put(randomBytes(1024 * 1024))
    expect(await entries(blobs)).toHaveLength(1)
  })
})
