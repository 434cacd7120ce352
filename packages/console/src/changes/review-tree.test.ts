import type { ReviewFile } from '@berth/client'
import { expect, test } from 'vitest'
import { type Folder, leavesOf, treeOf } from './review-tree.ts'

const file = (path: string): ReviewFile => ({ path, status: 'modified', binary: false, additions: 2, deletions: 1 })
const paths = ['.ci/run.yml', 'README.md', 'lib/a/b/c.ts', 'lib/a/b/d.ts', 'lib/z.ts', 'zoo.ts']
const names = ({ children }: Folder): unknown[] =>
  children.map(child => (child.kind === 'file' ? child.file.path : [child.name, ...names(child)]))

test('a tree has the order of the diff, and makes one folder of those that hold nothing else', () => {
  const tree = treeOf(paths.map(file), '')
  expect(names(tree)).toEqual([
    ['.ci', '.ci/run.yml'],
    'README.md',
    ['lib', ['a/b', 'lib/a/b/c.ts', 'lib/a/b/d.ts'], 'lib/z.ts'],
    'zoo.ts',
  ])
  expect(leavesOf(tree).map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5])
  expect(tree.children[2]).toMatchObject({ path: 'lib', files: 3, additions: 6, deletions: 3 })
})

test('a word leaves the files that have it in their paths, at their places in the diff', () => {
  const tree = treeOf(paths.map(file), ' LIB/a ')
  expect(names(tree)).toEqual([['lib/a/b', 'lib/a/b/c.ts', 'lib/a/b/d.ts']])
  expect(leavesOf(tree).map(({ at }) => at)).toEqual([2, 3])
  expect(treeOf(paths.map(file), 'nowhere').files).toBe(0)
})
