import { Readable } from 'node:stream'
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
