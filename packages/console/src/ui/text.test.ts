import { formatBytes, formatDuration } from '@berth/client/transcript'
import { describe, expect, it, test } from 'vitest'
import { parseAnsi } from '../transcript/ansi.ts'
import { safeUrl } from '../transcript/safe-url.ts'
import { ago, countdown, dollars } from './format.ts'
import { printable, printableLine } from './printable.ts'

describe('what agents write', () => {
  test.each([
    ['safe\u202Etxt.exe', 'safe⟨U+202E⟩txt.exe'],
    ['a\u200Bb\u2060\uFEFF', 'a⟨U+200B⟩b⟨U+2060⟩⟨U+FEFF⟩'],
    ['\u001B[2Jx\u0007', '␛[2Jx␇'],
    ['tag\u{E0041}', 'tag⟨U+E0041⟩'],
    ['a\tb\nc', 'a\tb\nc'],
    ['half \uD800', 'half \uFFFD'],
    ['naïve 👍 日本', 'naïve 👍 日本'],
    ['⚠️ ✔️ ❤️ 1️⃣', '⚠️ ✔️ ❤️ 1️⃣'],
    ['👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽', '👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽'],
    ['a\uFE0F👍\u200D👍', 'a⟨U+FE0F⟩👍⟨U+200D⟩👍'],
    ['⚠️\u202E', '⚠️⟨U+202E⟩'],
  ])('shows hidden characters of %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('cannot hide the second half of a command behind a line break', () => {
    expect(printableLine('ls\n\trm -rf /')).toBe('ls⏎⇥rm -rf /')
  })

  test.each([
    ['https://a.example/x', 'https://a.example/x'],
    ['HTTP://a.example', 'HTTP://a.example'],
    ['mailto:a@b.example', 'mailto:a@b.example'],
    ['javascript:alert(1)', ''],
    [' \u0001javascript:alert(1)', ''],
    ['java\nscript:alert(1)', ''],
    ['data:text/html,x', ''],
    ['vbscript:x', ''],
    ['//evil.example', ''],
    ['/cloud/auth/sign-out', ''],
    ['blob:https://a/1', ''],
  ])('links %j to %j', (url, kept) => {
    expect(safeUrl(url)).toBe(kept)
  })

  test.each([
    [
      '\u001B[31mred\u001B[0m plain',
      [
        ['red', 'ansi-red'],
        [' plain', ''],
      ],
    ],
    [
      '\u001B[1;32mok\u001B[22m on',
      [
        ['ok', 'font-semibold ansi-green'],
        [' on', 'ansi-green'],
      ],
    ],
    ['\u001B]8;;https://evil.example\u0007link\u001B]8;;\u0007', [['link', '']]],
    ['\u001B]52;c;aGk=\u0007x', [['x', '']]],
    [
      '\u001B]0;title\u001B\\x\u001B[2J\u001B[Hy',
      [
        ['x', ''],
        ['y', ''],
      ],
    ],
    [
      '\u001B[38;5;196mx\u001B[38;2;1;2;3my',
      [
        ['x', ''],
        ['y', ''],
      ],
    ],
    ['10 %\r50 %\r100 %\nend', [['100 %\nend', '']]],
    ['a\r\nb', [['a\nb', '']]],
  ])('is coloured and nothing else by escape sequences: %j', (text, spans) => {
    expect(parseAnsi(text).map(({ text, classes }) => [text, classes])).toEqual(spans)
  })

  it('is read in one pass, however long a line is', () => {
    expect(parseAnsi('x'.repeat(2_000_000))).toHaveLength(1)
  })
})

test('figures are formatted for people', () => {
  expect([0, 999, 1_000, 59_990, 61_000, 600_000, 3_660_000, 7_200_000].map(formatDuration)).toEqual([
    '0 ms',
    '999 ms',
    '1.0 s',
    '59.9 s',
    '1 min 1 s',
    '10 min',
    '1 h 1 min',
    '2 h',
  ])
  expect([-5, 0, 1, 65_000, 3_729_000].map(countdown)).toEqual(['0:00', '0:00', '0:01', '1:05', '1:02:09'])
  expect([1, 1023, 1024, 1_572_864, 1_073_741_824].map(formatBytes)).toEqual([
    '1 byte',
    '1023 bytes',
    '1.0 KiB',
    '1.5 MiB',
    '1.0 GiB',
  ])
  expect([0, 0.00123, 0.5, 12.345].map(dollars)).toEqual(['$0.00', '<$0.01', '$0.50', '$12.35'])
  const now = Date.parse('2026-01-10T00:00:00Z')
  const minute = 60_000
  expect([0, 4, 125, 3 * 24 * 60, 10 * 24 * 60].map(minutes => ago(now - minutes * minute, now))).toEqual([
    'now',
    '4 min',
    '2 h',
    '3 d',
    'Dec 31',
  ])
})
