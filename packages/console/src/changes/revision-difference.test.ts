import type { Review, ReviewFile } from '@berth/client'
import { expect, test } from 'vitest'
import { parsePatch } from './patch.ts'
import { differentFiles, leadToSame, textOf } from './revision-difference.ts'

const file = (path: string): ReviewFile => ({ path, status: 'modified', additions: 1, deletions: 1, binary: false })
const part = (path: string, to: string) =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,2 +1,2 @@\n same\n-old\n+${to}\n`
const review = (files: Readonly<Record<string, string>>) =>
  ({
    files: Object.keys(files).map(file),
    patch: Object.entries(files)
      .map(([path, to]) => part(path, to))
      .join(''),
    patchTruncated: false,
  }) as Pick<Review, 'files' | 'patch' | 'patchTruncated'> as Review

test('two revisions are compared file by file', () => {
  expect(differentFiles(review({ a: '1', b: '2', c: '3' }), review({ a: '1', b: 'two', d: '4' }))).toEqual([
    { path: 'b', before: 1, now: 1, compared: true },
    { path: 'd', before: null, now: 2, compared: true },
    { path: 'c', before: 2, now: null, compared: true },
  ])
  expect(differentFiles(review({ a: '1' }), review({ a: '1' }))).toEqual([])
})

test('a binary file is told apart by the ids of its contents', () => {
  const binary = (id: string): Review => ({
    ...review({}),
    files: [{ ...file('logo.png'), additions: 0, deletions: 0, binary: true }],
    patch: `diff --git a/logo.png b/logo.png\nindex ${'0'.repeat(40)}..${id.repeat(40)} 100644\nBinary files a/logo.png and b/logo.png differ\n`,
  })
  expect(differentFiles(binary('1'), binary('2'))).toEqual([{ path: 'logo.png', before: 0, now: 0, compared: true }])
  expect(differentFiles(binary('1'), binary('1'))).toEqual([])
  const [a, b] = [binary('1'), binary('2')].map(({ patch }) => parsePatch(patch)[0])
  expect(a && b && [leadToSame(a, b), leadToSame(a, a)]).toEqual([false, true])
})

test('a file beyond the patch is listed as one that could not be compared, unless its counts differ', () => {
  const cut: Review = { ...review({ a: '1', b: '2' }), patchTruncated: true }
  expect(differentFiles(cut, cut)).toEqual([{ path: 'b', before: 1, now: 1, compared: false }])
  // The lines of one revision are no comparison either.
  expect(differentFiles(review({ a: '1', b: '2' }), cut)).toMatchObject([{ path: 'b', compared: false }])
  const counted = { ...cut, files: cut.files.map(each => ({ ...each, additions: 2 })) }
  expect(differentFiles(cut, counted)).toMatchObject([
    { path: 'a', compared: true },
    { path: 'b', compared: true },
  ])
})

test('each side of a whole diff is the text of a file', () => {
  const [patch] = parsePatch(part('a', 'new'))
  expect([textOf(patch, 'before'), textOf(patch, 'after')]).toEqual(['same\nold\n', 'same\nnew\n'])
})
