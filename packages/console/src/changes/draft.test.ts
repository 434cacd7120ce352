import type { Review } from '@berth/client'
import type { Row } from '@berth/client/transcript'
import { expect, test } from 'vitest'
import { draftOf, hiddenNote, lastMessage } from './draft.ts'

const session = { title: 'Mend the till\nand more', sessionUrl: 'https://berth.example/sessions/1' }
const file = (path: string) => ({ path, status: 'modified', additions: 2, deletions: 1 }) as Review['files'][number]
const review = (paths: readonly string[]) => ({
  files: paths.map(file),
  additions: 2 * paths.length,
  deletions: paths.length,
})

const reply = (text: string) => ({ kind: 'reply', text }) as Row

test('a draft has the last words of the agent, and every file of the review', () => {
  const rows = [reply('I look first.'), reply('## What I did\nIt counts again.\n'), { kind: 'end' } as Row, reply(' ')]
  const { title, body } = draftOf(session, review(['src/till.ts', 'a`b\nc.md']), lastMessage(rows))
  expect(title).toBe('Mend the till')
  expect(body.split('\n')).toEqual([
    '## What I did',
    'It counts again.',
    '',
    '2 files, +4 −2:',
    '- `src/till.ts` modified, +2 −1',
    '- `` a`bc.md `` modified, +2 −1',
    '',
    'From https://berth.example/sessions/1',
  ])
})

test('a draft has the title that the last words begin with', () => {
  const { title, body } = draftOf(session, review(['a']), '# Count `euros` #\n\nIt counts\u202e.\n## Checked\nBy hand.')
  expect(title).toBe('Count `euros`')
  expect(body).toMatch(/^It counts⟨U\+202E⟩\.\n## Checked\nBy hand\.\n\n1 file/)
})

test('a draft cuts what an agent says at length', () => {
  expect(draftOf(session, review([]), 'x'.repeat(9_000)).body).toMatch(/^x{6000}…\n\n0 files/)
})

test('a draft counts the files that it does not name', () => {
  const paths = Array.from({ length: 33 }, (_, at) => `f${at}`)
  expect(draftOf(session, review(paths), '').body).toContain('- and 3 more')
  expect(draftOf(session, review(['one']), lastMessage([])).body).toMatch(/^1 file, \+2 −1:/)
})

test('a draft spells out what nobody would see', () => {
  const message = 'Safe\u202e.\u200b \u{e0041}👩‍💻'
  const { title, body } = draftOf({ ...session, title: 'Till\u202e' }, review(['a\u202eb']), message)
  expect(title).toBe('Till⟨U+202E⟩')
  expect(body).toMatch(/^Safe⟨U\+202E⟩\.⟨U\+200B⟩ ⟨U\+E0041⟩👩‍💻\n/)
  expect(body).toContain('- `a⟨U+202E⟩b` modified')
})

test.each([
  ['a block that the cut left open', '```ts\nx'.padEnd(7_000, 'x'), /x…\n```\n\n1 file/],
  ['a block that the agent left open', '~~~~\n```\n~~~', /~~~\n~~~~\n\n1 file/],
  ['a block in an item of a list', '- So:\n  ```sh\n  ls', /ls\n {2}```\n\n1 file/],
  ['no block that is closed', '```\nx\n````\nDone', /````\nDone\n\n1 file/],
  ['no code in a line', '```x``` it is', /it is\n\n1 file/],
])('a draft closes %s', (_, message, body) => {
  expect(draftOf(session, review(['a']), message).body).toMatch(body)
})

test('hidden characters of a text are counted and named', () => {
  expect(hiddenNote('Plain 👩‍💻\r\n\ttext')).toBeNull()
  expect(hiddenNote('a\u202eb\u202ec\u200b')).toBe('The text has 3 characters that nobody sees: ⟨U+202E⟩ ⟨U+200B⟩')
})
