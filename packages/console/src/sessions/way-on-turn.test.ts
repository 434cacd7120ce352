import { expect, test } from 'vitest'
import { wayOnTurn } from './way-on-turn.ts'

test('every button after a Run sends the same Turn, and the next Run has another', () => {
  expect(wayOnTurn('one')).toBe(wayOnTurn('one'))
  expect(wayOnTurn('two')).not.toBe(wayOnTurn('one'))
})
