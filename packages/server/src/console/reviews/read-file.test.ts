import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { ReviewRow } from '@berth/core/sessions/reviews/review-sql.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { expect, it } from 'vitest'
import { readReviewFile } from './read-file.ts'

const part = (path: string) => `diff --git a/${path} b/${path}\n@@ -1 +1 @@\n-${path}\n+new\n`

/** Reads the second of two files, of which only the cut patch was stored. */
async function second(patch: string, patchTruncated: boolean): Promise<string | null> {
  const document = { revision: 'r', files: [{ path: 'a' }, { path: 'b' }], patch, patchTruncated }
  const blobs = { get: async () => Readable.from([Buffer.from(JSON.stringify(document))]) } as unknown as Blobs
  const row = { document_sha256: 'd', files_sha256: null, created_at: new Date(0) } as unknown as ReviewRow
  return (await readReviewFile(blobs, row, { number: 1, context: 3 })).patch
}

it("reads a file of the stored patch, and no other file's lines if the patch has another number of files", async () => {
  expect(await second(part('a') + part('b'), false)).toBe(part('b'))
  expect(await second(part('a') + part('b') + part('c'), false)).toBeNull()
  // A patch that was cut has fewer parts, the last of which may lack lines.
  expect(await second(part('a') + part('b') + part('c'), true)).toBe(part('b'))
  expect(await second(part('a') + part('b'), true)).toBeNull()
})

const head = (name: string) => `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+`

/** Reads the second of two files, whose whole diff is stored. */
async function lastOf(whole: Buffer) {
  const files = [{ path: 'a' }, { path: 'b' }]
  const stored: Readonly<Record<string, Buffer>> = {
    document: Buffer.from(JSON.stringify({ revision: 'r', files, patch: '', patchTruncated: true })),
    files: gzipSync(whole),
  }
  const blobs = { get: async (sha256: string) => Readable.from([stored[sha256] ?? Buffer.alloc(0)]) }
  const row = { document_sha256: 'document', files_sha256: 'files', created_at: new Date(0) } as unknown as ReviewRow
  return readReviewFile(blobs as unknown as Blobs, row, { number: 1, context: 3 })
}

it('a diff that is not UTF-8 is whole up to its bound of bytes, so its last file can be expanded', async () => {
  const latin1 = Buffer.concat([Buffer.from(`${head('a')}a\n${head('b')}`), Buffer.alloc(6 * 1024 ** 2, 0xe9)])
  expect(await lastOf(latin1)).toMatchObject({ expandable: true, truncated: true })
})

it.each(['', 'x'])('a diff that is cut ends with a whole character, after %j', async begin => {
  const whole = Buffer.from(`${head('a')}a\n${head('b')}${begin}${'🔔'.repeat(2.5 * 1024 ** 2)}`)
  const { patch, truncated } = await lastOf(whole)
  expect([truncated, patch?.isWellFormed()]).toEqual([true, true])
})
