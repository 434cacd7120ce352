import { expect, test } from 'vitest'
import { OutputTail } from './output-tail.ts'

const MIB = 1024 * 1024
const all = Buffer.alloc(3 * MIB, Buffer.from(Array.from({ length: 251 }, (_, index) => index)))

test('a million single bytes take little more memory than they are', () => {
  const tail = new OutputTail()
  const byte = Buffer.from('x')
  const before = process.memoryUsage()
  // A copy each, as a pipe gives them.
  for (let count = 0; count < 1_000_000; count += 1) tail.add(Buffer.from(byte))
  globalThis.gc?.()
  const after = process.memoryUsage()
  expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(64 * MIB)
  expect(tail.from(0).equals(Buffer.alloc(1_000_000, 'x'))).toBe(true)
})

test.each([1, 7, 65_535, 65_536, 65_537, 3 * MIB])('chunks of %i bytes give the last bytes from any place', size => {
  const tail = new OutputTail()
  const begin = size === 1 ? 2 * MIB : 0
  if (begin > 0) tail.add(all.subarray(0, begin))
  for (let at = begin; at < all.length; at += size) tail.add(all.subarray(at, at + size))
  expect(tail.written).toBe(all.length)
  expect(all.length - tail.first).toBeGreaterThanOrEqual(MIB)
  expect(all.length - tail.first).toBeLessThan(2 * MIB)
  for (const place of [tail.first, tail.first + 1, all.length - 70_000, all.length - 1, all.length])
    expect(tail.from(place).equals(all.subarray(place))).toBe(true)
})

test('one that was cleared goes on at its place', () => {
  const tail = new OutputTail()
  tail.add(Buffer.from('before'))
  tail.clear()
  expect([tail.first, tail.written]).toEqual([6, 6])
  tail.add(Buffer.from('after'))
  expect(tail.from(6).toString()).toBe('after')
})
