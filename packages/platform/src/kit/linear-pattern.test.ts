import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LinearPattern } from './linear-pattern.ts'
import { PatternRefused } from './pattern-syntax.ts'

/** Returns why a pattern is refused; null if it is not. */
function refusal(pattern: string): string | null {
  try {
    new LinearPattern(pattern)
    return null
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error
    return error.message
  }
}

const texts = [
  ...[
    '',
    'a',
    'b',
    '-',
    '\n',
    '\r',
    '\u2028',
    '\u00a0',
    '\ufeff',
    '\v',
    '\0',
    '\b',
    'é',
    'я',
    '中',
    '😀',
    'A1_',
    ' x ',
  ],
  ...['aab', 'foo-bar', '2026-11-28', 'a@b.c', 'ab\ncd', ']', '[', '^', '\\', '/', '{', '}', '$', '.', '|', '\ud800'],
]

describe('a pattern', () => {
  test.each([
    ...['^[A-Z]{3}-\\d+$', '^(foo|bar)$', '^[a-z0-9]+(-[a-z0-9]+)*$', '^(\\+\\d{1,3} )?\\d{4,10}$', '^.*@.*\\.[a-z]+$'],
    ...['^[\\p{L} ]+$', '\\p{Letter}', '\\p{Script=Han}', '\\P{gc=Lu}', '^(?<year>\\d{4})-', 'a|b|c', '', '(?:)', '|a'],
    ...['.', '^.$', '\\s', '\\S', '^\\S+$', '[\\s]', '[^\\s]', '[\\S]', '[^\\S]', '[\\s\\d]', '\\w', '\\W', '[\\W]'],
    ...[
      '\\b',
      '\\B',
      'a\\b',
      '[\\b]',
      '\\cJ',
      '\\0',
      '\\x41',
      '\\u0041',
      '\\u{1f600}',
      '\\ud83d\\ude00',
      '[\\ud83d\\ude00]',
    ],
    ...['\\/', '\\]', '[\\-a]', '[a-]', '[-a]', '[^-a]', '[a-c-]', '[[]', '[\\]]', '[\\^]', '[^^]', '[]', '[^]', 'a[]'],
    ...[
      '[[:alpha:]',
      '\\{',
      '\\}',
      '\\$',
      '\\.',
      '\\|',
      '\\\\',
      '\\v',
      '\\n',
      '[\\n]',
      '^a*a*a*$',
      '^(a+)+$',
      '(a|a)*b',
    ],
    ...[
      'a{0}',
      'a{2}',
      'a{1,}',
      'a{00001,0002}',
      'a*?',
      'a{1,2}?b',
      '(a?){3}',
      '(?:a*)*',
      '^\\ud800$',
      'é',
      '😀',
      '[😀-😂]',
    ],
  ])('matches as ECMAScript does: %s', pattern => {
    const expected = texts.filter(text => new RegExp(pattern, 'u').test(text))
    const matcher = new LinearPattern(pattern)
    expect(texts.filter(text => matcher.test(text))).toEqual(expected)
  })

  test('matches as ECMAScript does, whatever its parts', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '\\s',
      '\\w',
      '\\D',
      '[ab]',
      '[^a]',
      '[a-c\\s]',
      '\\b',
      '^',
      '$',
      '\\n',
      'é',
    )
    const sign = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '*?')
    const { pattern } = fc.letrec<{ pattern: string; part: string }>(tie => ({
      part: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.tuple(atom, sign).map(([one, times]) => (/^(\^|\$|\\b)$/.test(one) ? one : one + times)),
        fc.tuple(tie('pattern'), sign).map(([inner, times]) => `(${inner})${times}`),
      ),
      pattern: fc.oneof(
        { depthSize: 'small' },
        fc.array(tie('part'), { maxLength: 4 }).map(parts => parts.join('')),
        fc.tuple(tie('part'), tie('part')).map(([a, b]) => `${a}|${b}`),
      ),
    }))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n', '\u00a0', 'é', '1'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (given, on) => {
        expect(new LinearPattern(given).test(on)).toBe(new RegExp(given, 'u').test(on))
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['(', 'is not a regular expression'],
    ['[b-a]', 'is not a regular expression'],
    ['(a)\\1', 'refers back'],
    ['(?<x>a)\\k<x>', 'refers back'],
    ['(?=a)b', 'looks ahead or behind'],
    ['(?!a)b', 'looks ahead or behind'],
    ['(?<=a)b', 'looks ahead or behind'],
    ['(?<!a)b', 'looks ahead or behind'],
    ['(?i:a)', 'sets flags'],
    ['\\p{Script_Extensions=Han}', 'names the property Script_Extensions=Han'],
    ['a{1001}', 'more than 1000 steps'],
    ['((a{10}){10}){20}', 'more than 1000 steps'],
    ['((((){100}){100}){100}){100}', 'more than 1000 steps'],
    ['a{99999999999999999999}', 'more than 1000 steps'],
  ])('that cannot be matched in linear time is refused: %s', (pattern, expected) => {
    expect(refusal(pattern)).toContain(expected)
  })

  test('of a high power of the text is decided', () => {
    const text = `${'a'.repeat(60_000)}b`
    for (const pattern of ['^a*a*a*$', '^(a+)+$', '^(a|a)*$', '^(?:a?){900}a{90}$']) {
      expect(new LinearPattern(pattern).test(text)).toBe(false)
    }
  })
})
