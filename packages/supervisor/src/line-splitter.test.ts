import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineSplitter } from './line-splitter.ts'

function split(chunks: readonly Buffer[], maxBytes: number): [string, number][] {
  const lines: [string, number][] = []
  const splitter = new LineSplitter(maxBytes, (bytes, total) => lines.push([bytes.toString('latin1'), total]))
  for (const chunk of chunks) splitter.push(chunk)
  splitter.end()
  return lines
}

test('the splitter finds the same lines however the bytes are cut, and keeps the beginning of each', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map(array => Buffer.from(array.map(byte => (byte < 30 ? 10 : byte))))
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(200)), fc.integer({ min: 1, max: 20 }), (input, cuts, maxBytes) => {
      const places = [0, ...cuts.filter(cut => cut <= input.length).toSorted((a, b) => a - b), input.length]
      const chunks = places.slice(1).map((end, i) => input.subarray(places[i], end))
      const lines = input.toString('latin1').split('\n')
      if (lines.at(-1) === '') lines.pop()
      expect(split(chunks, maxBytes)).toEqual(lines.map(line => [line.slice(0, maxBytes), line.length]))
    }),
  )
})

test('a stream that ends with a newline has no line after it', () => {
  expect(split([Buffer.from('a\n')], 10)).toEqual([['a', 1]])
  expect(split([Buffer.from('\n')], 10)).toEqual([['', 0]])
  expect(split([], 10)).toEqual([])
})
