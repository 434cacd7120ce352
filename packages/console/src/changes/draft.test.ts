import type { Review } from '@berth/client'
import { expect, test } from 'vitest'
import { draftOf } from './draft.ts'

const session = { title: 'Mend the till\nand more', sessionUrl: 'https://berth.example/sessions/1' }
const file = (path: string) => ({ path, status: 'modified', additions: 2, deletions: 1 }) as Review['files'][number]
const review = (paths: readonly string[]) => ({
  files: paths.map(file),
  additions: 2 * paths.length,
  deletions: paths.length,
})

test('a draft tells of every file of the review, whatever was said last', () => {
  const { title, body } = draftOf(session, review(['src/till.ts', 'a`b\nc.md']))
  expect(title).toBe('Mend the till')
  expect(body.split('\n').slice(3)).toEqual([
    '2 files, +4 −2:',
    '- `src/till.ts` modified, +2 −1',
    '- `` a`bc.md `` modified, +2 −1',
    '',
    'From https://berth.example/sessions/1',
  ])
})

test('a draft counts the files that it does not name', () => {
  const paths = Array.from({ length: 33 }, (_, at) => `f${at}`)
  expect(draftOf(session, review(paths)).body).toContain('- and 3 more')
  expect(draftOf(session, review(['one'])).body).toContain('1 file, +2 −1:')
})
