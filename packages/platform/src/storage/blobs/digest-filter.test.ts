import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { DigestFilter } from './digest-filter.ts'

const digest = (text: string) => createHash('sha256').update(text).digest('hex')

test('has every digest that was added and few others, and each filter has different others', () => {
  const members = Array.from({ length: 2000 }, (_, index) => digest(`member ${index}`))
  const others = Array.from({ length: 20_000 }, (_, index) => digest(`other ${index}`))
  // As full as 32 MiB are with 30 million digests: 54 in 100 bits are set, and 0.54 ** 7 is 0.013.
  const mistakes = [1, 2].map(() => {
    const filter = new DigestFilter(14)
    for (const member of members) filter.add(member)
    expect(members.every(member => filter.has(member))).toBe(true)
    return new Set(others.filter(other => filter.has(other)))
  })
  const [first = new Set(), second = new Set()] = mistakes
  for (const { size } of mistakes) expect(size).toBeLessThan(others.length * 0.04)
  expect(first.size).toBeGreaterThan(0)
  expect(first.intersection(second).size).toBeLessThan(first.size / 3)
})

test('has nothing while it is empty', () => {
  expect(new DigestFilter().has(digest('x'))).toBe(false)
})
