import { expect, test } from 'vitest'
import { findText } from './find-text.ts'

test('an excerpt has what stands around the first place', () => {
  expect(findText({ text: 'The TEST failed' }, 'test')).toEqual({ before: 'The ', match: 'TEST', after: ' failed' })
  const long = findText({ text: `${'a'.repeat(100)}needle${'b'.repeat(200)}` }, 'needle')
  expect([long?.before.length, long?.after.length]).toEqual([49, 113])
  expect([long?.before.at(0), long?.after.at(-1)]).toEqual(['…', '…'])
})

test('it looks into everything that is told, however deep, and not at ids or names', () => {
  const data = { activityId: 'abc', input: { list: [{ path: 'src/a.ts' }] }, sha256: 'abc', output: 'x' }
  expect(findText(data, 'src/a')?.match).toBe('src/a')
  expect(findText(data, 'abc')).toBeNull()
  expect(findText(data, 'output')).toBeNull()
})

test('letters whose small form is longer do not shift the place', () => {
  expect(findText({ text: 'İİ here' }, 'here')).toBeNull()
  expect(findText({ text: 'ÄÖ here' }, 'HERE')?.match).toBe('here')
})
