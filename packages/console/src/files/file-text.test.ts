import { expect, test } from 'vitest'
import { fileText, isBinary, pictureType } from './file-text.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test.each([
  ['', ['']],
  ['a', ['a']],
  ['a\n', ['a']],
  ['a\n\n', ['a', '']],
  ['a\nb', ['a', 'b']],
])('the lines of %j are %j', (text, lines) => {
  expect(fileText(bytes(text)).lines).toEqual(lines)
})

test('what nobody sees is counted', () => {
  expect(fileText(bytes('if (admin\u202e \u2066// check\u2069) {\u200b\n\tok\r\n')).hidden).toBe(4)
  expect(fileText(bytes('a\u001b[31mred\u0007')).hidden).toBe(2)
  expect(fileText(bytes('plain\ttext\r\n')).hidden).toBe(0)
  expect(fileText(new Uint8Array([0x61, 0xff])).valid).toBe(false)
})

test('a file is binary if it has a zero byte near its start', () => {
  expect([isBinary(bytes('a\0b')), isBinary(bytes('ab'))]).toEqual([true, false])
})

test.each([
  ['image/png', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0])],
  ['image/gif', bytes('GIF89a')],
  ['image/webp', bytes('RIFF1234WEBP')],
  ['image/svg+xml', bytes('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"></svg>')],
  [null, bytes('<!doctype html><svg></svg>')],
  [null, bytes('RIFF1234WAVE')],
  [null, bytes('')],
])('a picture is known by its bytes: %s', (type, content) => {
  expect(pictureType(content)).toBe(type)
})
