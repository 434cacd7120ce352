import type { WorkspaceEntry, WorkspaceNode } from '@berth/contract'
import { expect, test } from 'vitest'
import { type Listing, parentRow, rowAfter, treeRows } from './tree-rows.ts'

const entry = (name: string, kind = 'file'): WorkspaceEntry => ({ name, kind, readable: true })
const listing = (path: string, entries: readonly WorkspaceEntry[], more = false): [string, Listing] => {
  const node: WorkspaceNode = { path, kind: 'directory', view: { at: 'workspace' }, entries: [...entries], more }
  return [path, { node, failed: false }]
}
const listings = new Map([
  listing('', [entry('src', 'directory'), entry('docs', 'directory'), entry('a.ts')]),
  listing('src', [entry('deep', 'directory'), entry('b.ts')], true),
  listing('src/deep', []),
])
const drawn = (open: readonly string[]) =>
  treeRows(listings, new Set(open)).map(row => `${'  '.repeat(row.depth)}${row.kind === 'entry' ? row.path : row.text}`)

test('open directories are followed by what they hold', () => {
  expect(drawn([])).toEqual(['src', 'docs', 'a.ts'])
  expect(drawn(['src', 'src/deep', 'docs'])).toEqual([
    'src',
    '  src/deep',
    '    Empty.',
    '  src/b.ts',
    '  And more, which are not listed here.',
    'docs',
    '  Reading…',
    'a.ts',
  ])
})

test('keys lead from row to row, and never out of the tree', () => {
  const rows = treeRows(listings, new Set(['src', 'src/deep']))
  expect(['ArrowDown', 'ArrowUp', 'Home', 'End', 'PageDown', 'x'].map(key => rowAfter(rows, 0, key))).toEqual([
    1,
    0,
    0,
    rows.length - 1,
    rows.length - 1,
    null,
  ])
  expect(rows.map((_, at) => parentRow(rows, at))).toEqual([0, 0, 1, 0, 0, 5, 6])
})
