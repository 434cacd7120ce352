import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteSearch } from './byte-search.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const searchOf = (...strings: readonly string[]) => new ByteSearch(strings.map(bytes))

describe('a search for many byte strings', () => {
  it('finds each of them, and nothing else', () => {
    const search = searchOf('hunter22', 'hunters', 'terrible', '\0\xff\0')
    for (const text of ['hunter22', 'a hunters', 'hunterrible', '..\0\0\xff\0..'])
      expect(search.isIn(bytes(text)), text).toBe(true)
    for (const text of ['', 'hunter2', 'hunte rs', 'terribl', '\0\xff\x01'])
      expect(search.isIn(bytes(text)), text).toBe(false)
  })

  it('finds nothing without strings', () => {
    expect([searchOf().isEmpty, searchOf('').isEmpty, searchOf('a').isEmpty]).toEqual([true, true, false])
    expect(searchOf('').isIn(bytes('anything'))).toBe(false)
  })

  it('finds a string that ends inside the beginning of another', () => {
    expect(searchOf('abcdefgh', 'cde').isIn(bytes('xabcdef'))).toBe(true)
    expect(searchOf('aaab', 'ab').isIn(bytes('aab'))).toBe(true)
  })

  it('finds a string over the border of pieces, once its last byte has come', () => {
    const found = searchOf('secret-value').stream()
    expect(['a sec', 'ret', '-val', 'u', 'e!', 'x'].map(piece => found(bytes(piece)))).toEqual([
      ...[false, false, false, false],
      ...[true, true],
    ])
  })

  it('answers as a search for one string after the other does, however the text is divided', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 })
    const check = fc.property(
      fc.array(word, { maxLength: 8 }),
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 }), { maxLength: 6 }),
      (strings, pieces) => {
        const found = searchOf(...strings).stream()
        const result = pieces.map(piece => found(bytes(piece))).at(-1) ?? false
        const whole = pieces.join('')
        expect(result).toBe(strings.some(string => string !== '' && whole.includes(string)))
      },
    )
    fc.assert(check, { numRuns: 2000 })
  })
})
