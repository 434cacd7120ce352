import { expect, it } from 'vitest'
import { Excerpt } from './excerpt.ts'

function excerptOf(most: number, paragraphs: readonly string[]): string {
  const excerpt = new Excerpt(most)
  for (const each of paragraphs) excerpt.add(each)
  return excerpt.text
}

it('joins paragraphs, and leaves the middle of a long text out', () => {
  expect(excerptOf(10, [])).toBe('')
  expect(excerptOf(10, ['abcd', 'efgh'])).toBe('abcd\n\nefgh')
  expect(excerptOf(10, ['abcdefghij'])).toBe('abcdefghij')
  expect(excerptOf(10, ['abcde', 'fghijk'])).toBe('abcde\n[3 characters left out]\nghijk')
  expect(excerptOf(10, ['abcdefghijkl'])).toBe('abcde\n[2 characters left out]\nhijkl')
  expect(
    excerptOf(
      10,
      Array.from({ length: 1000 }, () => 'ab'),
    ),
  ).toBe('ab\n\na\n[3988 characters left out]\nb\n\nab')
})
