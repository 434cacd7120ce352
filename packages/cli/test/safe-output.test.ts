import { expect, test } from 'vitest'
import { DetachKeys } from '../src/shell/detach-keys.ts'
import { SafeOutput } from '../src/shell/safe-output.ts'

const shown = (pieces: readonly string[]) => {
  const safe = new SafeOutput()
  return pieces.map(piece => Buffer.from(safe.read(Buffer.from(piece))).toString()).join('')
}
const cases: readonly (readonly [output: string, shown: string])[] = [
  ['a\u001b]0;title\u0007b', 'ab'],
  ['a\u001b]52;c;Zm9v\u001b\\b', 'ab'],
  ['a\u001bP1q~~\u001b\\b\u001b_x\u001b\\c\u001b^x\u001b\\d\u001bXx\u001b\\e', 'abcde'],
  ['a\u009d0;x\u009cb\u00902q\u0007c', 'abc'],
  ['\u001b[1;31mred\u001b[0m\u001b[?1049h\u001b(B', '\u001b[1;31mred\u001b[0m\u001b[?1049h\u001b(B'],
  ['café ©\u00a0\u00e9', 'café ©\u00a0\u00e9'],
  // A sequence that is broken off takes nothing of what follows.
  ['a\u001b]0;x\u0018b', 'ab'],
  ['a\u001b]0;x\u001b[31mb', 'a\u001b[31mb'],
  ['a\u001b]0;x\u001b]0;y\u0007b', 'ab'],
  ['a\u001b\u001b]0;x\u0007b', 'a\u001bb'],
  // A bare line feed keeps the column.
  ['a\r\nb\nc', 'a\r\nb\u001bDc'],
]

test.each(cases)('%j is shown as %j, however it is cut', (output, expected) => {
  expect(shown([output])).toBe(expected)
  for (let at = 0; at <= output.length; at++) {
    expect(shown([output.slice(0, at), output.slice(at)])).toBe(expected)
  }
  const bytes = Buffer.from(output)
  const safe = new SafeOutput()
  expect(Buffer.concat([...bytes].map(byte => Buffer.from(safe.read(Uint8Array.of(byte))))).toString()).toBe(expected)
})

test.each([
  ['~.', '', true],
  ['ls\r~.rest', 'ls\r', true],
  ['a~.b', 'a~.b', false],
  ['~~.', '~.', false],
  ['\n~x~.', '\n~x~.', false],
  ['~\r~.', '~\r', true],
])('of the keys %j, %j are typed', (keys, typed, leaves) => {
  const whole = new DetachKeys().read(Buffer.from(keys))
  expect([Buffer.from(whole.bytes).toString(), whole.leaves]).toEqual([typed, leaves])
  const detach = new DetachKeys()
  const read = [...Buffer.from(keys)].map(byte => detach.read(Uint8Array.of(byte)))
  const end = read.findIndex(each => each.leaves)
  const bytes = (end < 0 ? read : read.slice(0, end + 1)).flatMap(each => [...each.bytes])
  expect([Buffer.from(bytes).toString(), end >= 0]).toEqual([typed, leaves])
})
