import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeCursor, pageOf } from './list-cursor.ts'

const lists = ['sessions', 'repository-grants', 'publications a', 'publications b', 'merges a b', 'artifacts a']

test.each(lists)('a cursor of the list %s works for that list only', list => {
  const row = { id: randomUUID(), at: new Date(1_700_000_000_123) }
  const { nextCursor } = pageOf(list, [row], 1, ({ at }) => at)
  expect(decodeCursor(list, nextCursor ?? '')).toEqual({ id: row.id, updatedAt: row.at })
  for (const other of lists.filter(name => name !== list)) {
    expect(() => decodeCursor(other, nextCursor ?? '')).toThrow(expect.objectContaining({ status: 400 }))
  }
})
