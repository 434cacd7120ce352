import type { NoticeRow, Row } from '@berth/client/transcript'
import { expect, test } from 'vitest'
import { foldPreparation } from './fold-preparation.ts'

let sequence = 0
const notice = (text: string, more: Partial<NoticeRow> = {}): NoticeRow => {
  const key = String(++sequence)
  return { kind: 'notice', key, sequence, at: '', runId: null, tone: 'quiet', text, ...more }
}
const step = (text: string, more: Partial<NoticeRow> = {}) => notice(text, { step: text, ...more })
const texts = (rows: readonly Row[]) =>
  foldPreparation(rows).map(row => (row.kind === 'notice' ? [row.text, row.detail ?? ''] : row.kind))

test.each([
  ['steps in a row are one line', [step('a'), step('b', { detail: 'out' })], [['Sandbox prepared', 'a\nb\nout']]],
  [
    'a single one stays as it is',
    [step('a'), notice('b')],
    [
      ['a', ''],
      ['b', ''],
    ],
  ],
  [
    'what goes on stays in sight',
    [step('a'), step('b'), step('c', { ongoing: true })],
    [
      ['Sandbox prepared', 'a\nb'],
      ['c', ''],
    ],
  ],
  [
    'so does what failed',
    [step('a'), step('b', { tone: 'bad' }), step('c')],
    [
      ['a', ''],
      ['b', ''],
      ['c', ''],
    ],
  ],
])('%s', (_, rows, folded) => {
  expect(texts(rows)).toEqual(folded)
})
