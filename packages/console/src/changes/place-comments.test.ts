import type { Review } from '@berth/client'
import { expect, test } from 'vitest'
import { type LineComment, messageOf } from './line-comments.ts'
import { placeComments, type ReadWhole } from './place-comments.ts'

const header = 'diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n'
const review = {
  revision: 'f'.repeat(64),
  files: ['a.ts', 'big.ts'].map(path => ({ path, status: 'modified', additions: 1, deletions: 0, binary: false })),
  patch: `${header}@@ -9,0 +10 @@\n+ten\ndiff --git a/big.ts b/big.ts\n`,
  patchTruncated: true,
} as unknown as Review
const comment = (path: string, line: number, quote: string): LineComment => ({
  ...{ id: `${path}${line}`, path, side: 'after', line, quote, body: 'why?' },
})

const whole = `${header}@@ -1,9 +1,10 @@\n${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(at => ` l${at}\n`).join('')}+ten\n`
const kept: ReadWhole = async () => ({ patch: whole, expandable: true, truncated: false })
const notKept: ReadWhole = async () => ({ patch: null, expandable: false, truncated: false })
const failing: ReadWhole = async () => {
  throw new Error('no answer')
}
const placed = async (comments: readonly LineComment[], read: ReadWhole) =>
  (await placeComments(comments, review, read)).map(({ line, moved, gone }) => ({ at: line?.after, moved, gone }))

test('a comment on a line that was opened on demand finds it in the whole file', async () => {
  const comments = [
    comment('a.ts', 2, 'l2'),
    comment('a.ts', 3, 'l5'),
    comment('a.ts', 4, 'else'),
    comment('a.ts', 10, 'ten'),
  ]
  expect(await placed(comments, kept)).toEqual([
    { at: 2, moved: false, gone: false },
    { at: 5, moved: true, gone: false },
    { at: undefined, moved: false, gone: true },
    { at: 10, moved: false, gone: false },
  ])
})

test.each([
  ['not kept', notKept],
  ['not read', failing],
])('a line is not called gone if its file is %s whole', async (_, read) => {
  const comments = [comment('a.ts', 2, 'l2'), comment('big.ts', 7, 'seven')]
  expect(messageOf(await placeComments(comments, review, read), review.revision)).not.toContain('no longer')
  // A file that the review does not list is no longer changed.
  expect(await placed([comment('other.ts', 1, 'x')], read)).toEqual([{ at: undefined, moved: false, gone: true }])
})

test('a file is read once for all of its comments, and only if the patch lacks a line', async () => {
  const reads: number[] = []
  const read: ReadWhole = at => {
    reads.push(at)
    return kept(at)
  }
  await placeComments([comment('a.ts', 10, 'ten')], review, read)
  expect(reads).toEqual([])
  await placeComments([comment('a.ts', 1, 'l1'), comment('a.ts', 2, 'l2')], review, read)
  expect(reads).toEqual([0])
})
