import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clip, jsonLine, printable, printableLine } from '../src/terminal-text.ts'

/** The characters that a terminal obeys, listed independently by code point. */
function isObeyed(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  const control = code < 0x20 || (code >= 0x7f && code <= 0x9f)
  const reordering = [0x61c, 0x200e, 0x200f].includes(code) || (code >= 0x202a && code <= 0x202e)
  return control || reordering || (code >= 0x2066 && code <= 0x2069)
}

const nasty = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0x2070 }).map(code => String.fromCharCode(code)),
    fc.constantFrom('\u001b]0;title\u0007', '\u001b[2J', '\u009b31m', '\r\n', '\ud800', '漢', '👩‍🚀'),
  ),
})

test('printable text contains nothing that a terminal obeys', () => {
  fc.assert(
    fc.property(nasty, text => {
      const obeyed = [...printable(text)].filter(isObeyed).filter(character => character !== '\n' && character !== '\t')
      expect(obeyed).toEqual([])
      expect([...printableLine(text)].filter(isObeyed)).toEqual([])
      expect(printable(text).isWellFormed()).toBe(true)
    }),
  )
})

test('a JSON line contains nothing that a terminal obeys, and keeps its value', () => {
  fc.assert(
    fc.property(nasty, text => {
      const line = jsonLine({ text })
      expect([...line].filter(isObeyed)).toEqual([])
      expect(JSON.parse(line)).toEqual({ text })
    }),
  )
})

test('harmless text stays as it is', () => {
  expect(printable('naïve\t漢字\n👩‍🚀')).toBe('naïve\t漢字\n👩‍🚀')
  expect(printableLine('a\r\nb\tc')).toBe('a\\nb\\tc')
  expect(printable('\u001b[31mred\u001b[0m')).toBe('␛[31mred␛[0m')
})

test('clip counts characters, not units', () => {
  expect(clip('👩👩👩', 3)).toBe('👩👩👩')
  expect(clip('👩👩👩👩', 3)).toBe('👩👩…')
  expect(clip('abc', 0)).toBe('…')
})
