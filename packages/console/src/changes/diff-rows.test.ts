import type { ReviewFile } from '@berth/client'
import { describe, expect, test } from 'vitest'
import { type DiffFile, type DiffRow, rowsOf } from './diff-rows.ts'
import { type LineComment, messageOf, placeComment, quoteOf } from './line-comments.ts'
import { changedWithin, partsOfLine } from './line-parts.ts'
import { parsePatch } from './patch.ts'

const patch = `diff --git a/a.ts b/a.ts
--- a/a.ts
+++ b/a.ts
@@ -11,5 +11,6 @@ function f() {
 eleven
 twelve
-thirteen
+THIRTEEN
+more
 fourteen
 fifteen
`
const whole = patch
  .replace('@@ -11,5 +11,6 @@ function f() {\n', '@@ -1,20 +1,21 @@\n')
  .replace(' eleven', `${Array.from({ length: 10 }, (_, at) => ` l${at + 1}\n`).join('')} eleven`)
  .replace(' fifteen\n', ` fifteen\n${Array.from({ length: 5 }, (_, at) => ` l${at + 17}\n`).join('')}`)

const file: ReviewFile = { path: 'a.ts', status: 'modified', additions: 2, deletions: 1, binary: false }
const shown = (more: Partial<DiffFile> = {}): DiffFile => ({
  ...{
    file,
    patch: parsePatch(patch)[0] ?? null,
    whole: null,
    revealed: [],
    folded: false,
    drawn: false,
    comments: [],
    signals: [],
  },
  ...more,
})
const texts = (rows: readonly DiffRow[]) =>
  rows.map(row => {
    if (row.kind === 'line') return `${row.line.before ?? ''}|${row.line.after ?? ''} ${row.line.text}`
    if (row.kind === 'pair') return `${row.left?.text ?? ''} | ${row.right?.text ?? ''}`
    if (row.kind === 'gap') return `gap ${row.range.from}-${row.range.to ?? ''}`
    return row.kind === 'note' ? row.text : row.kind
  })
const comment: LineComment = { id: 'c', path: 'a.ts', side: 'after', line: 13, quote: 'THIRTEEN', body: 'why?' }

describe('the rows of a file', () => {
  test('show its lines in one column or two, with what lies between', () => {
    expect(texts(rowsOf([shown()], false))).toEqual([
      ...['file', 'gap 1-10', '11|11 eleven', '12|12 twelve', '13| thirteen', '|13 THIRTEEN', '|14 more'],
      ...['14|15 fourteen', '15|16 fifteen', 'end'],
    ])
    expect(texts(rowsOf([shown()], true)).slice(3, 6)).toEqual(['twelve | twelve', 'thirteen | THIRTEEN', ' | more'])
    expect(texts(rowsOf([shown({ folded: true })], false))).toEqual(['file', 'end'])
  })

  test('show a signal below the line that it names, and of lines that follow each other below the first', () => {
    const signals: DiffFile['signals'] = [
      {
        kind: 'test_skipped',
        path: 'a.ts',
        lines: [
          { side: 'before', number: 13 },
          { side: 'after', number: 13 },
          { side: 'after', number: 14 },
        ],
        digest: 'd',
      },
    ] as never
    for (const [split, expected] of [
      [false, ['12|12 twelve', '13| thirteen', 'signal', '|13 THIRTEEN', 'signal', '|14 more', '14|15 fourteen']],
      [true, ['twelve | twelve', 'thirteen | THIRTEEN', 'signal', ' | more', 'fourteen | fourteen']],
    ] as const) {
      const rows = rowsOf([shown({ signals })], split)
      expect(texts(rows).slice(3, 3 + expected.length)).toEqual(expected)
      expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length)
    }
  })

  test('show more of the file where somebody asked for it', () => {
    const all = shown({ whole: parsePatch(whole)[0] ?? null, revealed: [{ from: 1, to: 2 }] })
    expect(texts(rowsOf([all], false))).toEqual([
      ...['file', '1|1 l1', '2|2 l2', 'gap 3-9', '10|10 l10', '11|11 eleven', '12|12 twelve', '13| thirteen'],
      ...['|13 THIRTEEN', '|14 more', '14|15 fourteen', '15|16 fifteen', '16|17 l17', 'gap 18-21', 'end'],
    ])
  })

  test('say what no line shows', () => {
    const note = (text: string, more: Partial<ReviewFile> = {}) =>
      texts(rowsOf([shown({ file: { ...file, ...more }, patch: parsePatch(text)[0] ?? null })], false)).slice(1, -1)
    expect(note('diff --git a/x b/x\nold mode 100644\nnew mode 100755\n')).toEqual([
      'The mode changed from a plain file (100644) to executable (100755).',
    ])
    expect(note('diff --git a/x b/y\nrename from x\nrename to y\n', { status: 'renamed' })).toEqual([
      'Only its name changed.',
    ])
    expect(note('diff --git a/x b/x\nBinary files differ\n', { binary: true })).toEqual(['A binary file.'])
    expect(texts(rowsOf([shown({ patch: null })], false))).toEqual(['file', 'load', 'end'])
  })

  test('are not drawn by the hundred thousand unless somebody asks', () => {
    const lines = Array.from({ length: 100_000 }, () => '+x').join('\n')
    const large = parsePatch(`diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,100000 @@\n${lines}\n`)[0] ?? null
    expect(texts(rowsOf([shown({ patch: large })], false))).toEqual(['file', 'large', 'end'])
    expect(rowsOf([shown({ patch: large, drawn: true })], true)).toHaveLength(100_002)
  })
})

describe('a comment', () => {
  test('stands below its line, and follows it when it moves', () => {
    const rows = rowsOf([shown({ comments: [comment] })], false)
    expect(texts(rows).slice(5, 7)).toEqual(['|13 THIRTEEN', 'comment'])
    const lines = shown().patch?.hunks[0]?.lines ?? []
    expect(placeComment({ ...comment, line: 9 }, lines)).toMatchObject({ moved: true, line: { after: 13 } })
    expect(placeComment({ ...comment, quote: 'gone' }, lines)).toMatchObject({ moved: false, line: null })
  })

  test('is sent with its file, its line and what that says', () => {
    const placed = [
      placeComment(comment, shown().patch?.hunks[0]?.lines ?? []),
      placeComment({ ...comment, quote: 'gone', body: 'and this' }, [], true),
      placeComment({ ...comment, quote: 'out of sight', body: 'here too' }, []),
    ]
    expect(messageOf(placed, 'f'.repeat(64))).toBe(
      'Comments on your changes (revision ffffffffffff):\n\n1. `a.ts`, line 13:\n> THIRTEEN\n\nwhy?\n\n2. `a.ts`, line 13, which is no longer among the changes:\n> gone\n\nand this\n\n3. `a.ts`, line 13:\n> out of sight\n\nhere too',
    )
  })

  test('is sent without half of a character of a long line, and names its file as it is', () => {
    const text = `${'x'.repeat(299)}${'🔔'.repeat(1_000)}`
    const quote = quoteOf(text)
    expect([...quote]).toHaveLength(1_000)
    const message = messageOf([placeComment({ ...comment, path: '`a``b.ts', quote }, [])], '')
    expect(message.isWellFormed() && quote.isWellFormed()).toBe(true)
    expect(message).toContain(`1. \`\`\` \`a\`\`b.ts \`\`\`, line 13:\n> ${[...text].slice(0, 300).join('')}…\n`)
  })
})

test('the parts of a line carry its colours and what changed in it', () => {
  const [left, right] = changedWithin('const a = 1', 'const b = 1')
  expect([left, right]).toEqual([[{ from: 6, to: 7, className: '' }], [{ from: 6, to: 7, className: '' }]])
  expect(changedWithin('entirely', 'something else')).toEqual([[], []])
  expect(partsOfLine('const a', [{ from: 0, to: 5, className: 'k' }], left)).toEqual([
    { text: 'const', className: 'k', changed: false },
    { text: ' ', className: '', changed: false },
    { text: 'a', className: '', changed: true },
  ])
})
