import { expect, it } from 'vitest'
import { decodeNamedCharacterReference } from './character-references.ts'

it.each([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', '\u00a0'],
  ['ne', '≠'],
])('decodes %s', (name, character) => {
  expect(decodeNamedCharacterReference(name)).toBe(character)
})

it.each(['', 'unknown', 'constructor', '__proto__', 'LT'])('knows no %s', name => {
  expect(decodeNamedCharacterReference(name)).toBe(false)
})
