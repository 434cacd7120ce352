import type { StreamParser } from '@codemirror/language'
import { expect, test } from 'vitest'
import { GrowingColours } from './highlight.ts'

/** A language in which `"` begins and ends a string, which may go on for lines; it counts the lines that it reads. */
function quoting() {
  const counts = { lines: 0 }
  const parser: StreamParser<{ quoted: boolean; seen: string[] }> = {
    name: 'quoting',
    startState: () => ({ quoted: false, seen: [] }),
    token(stream, state) {
      if (stream.sol()) counts.lines++
      const isQuote = stream.next() === '"'
      const style = isQuote || state.quoted ? 'string' : null
      if (isQuote) state.quoted = !state.quoted
      return style
    },
  }
  return { counts, parser: parser as StreamParser<unknown> }
}

const lines = ['a "b', 'c', 'd" e', 'f "g"', 'h']

test('text that grows is coloured as if it had been there at once, and each line is read once', () => {
  const { counts, parser } = quoting()
  const growing = new GrowingColours(parser)
  for (let end = 1; end <= lines.length; end++) {
    const text = lines.slice(0, end)
    expect(growing.of(text)).toEqual(new GrowingColours(quoting().parser).of(text))
  }
  expect(counts.lines).toBe(lines.length)
  const before = growing.of(lines)
  expect(growing.of([...lines.slice(0, 4), 'h"'])[3]).toBe(before[3])
  expect(counts.lines).toBe(lines.length + 1)
})

test('what follows a changed line is read again', () => {
  const growing = new GrowingColours(quoting().parser)
  growing.of(lines)
  const changed = ['a b', ...lines.slice(1)]
  expect(growing.of(changed)).toEqual(new GrowingColours(quoting().parser).of(changed))
  expect(growing.of(lines.slice(0, 2))).toHaveLength(2)
})
