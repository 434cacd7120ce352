import { expect, test } from 'vitest'
import { inputFileName } from './input-file-name.ts'

test('keeps a name that fits, and shortens a longer one to its beginning, a digest and its extension', () => {
  expect(inputFileName('a.txt')).toBe('a.txt')
  expect(inputFileName('x'.repeat(255))).toBe('x'.repeat(255))
  const [one, other] = ['1', '2'].map(last => inputFileName(`${'😀'.repeat(100)}${last}.txt`))
  expect(one).not.toBe(other)
  for (const name of [one, other, inputFileName(`a.${'é'.repeat(250)}`)]) {
    expect(Buffer.byteLength(name ?? '')).toBeLessThanOrEqual(255)
    expect(name?.isWellFormed()).toBe(true)
  }
  expect(one).toMatch(/^(?:😀)+~[0-9a-f]{12}\.txt$/u)
})
