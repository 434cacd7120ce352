import { expect, it } from 'vitest'
import { choicesOf } from './approval-choices.ts'

it.each([
  [[], ['allow_once', 'deny']],
  [['turn'], ['allow_once', 'allow_turn', 'deny']],
  [
    ['chat', 'turn'],
    ['allow_once', 'allow_turn', 'allow_chat', 'deny'],
  ],
  [['project'], ['allow_once', 'deny']],
])('offers for the scopes %j no wider decision than the agent remembers', (scopes, expected) => {
  expect(choicesOf(scopes).map(({ choice }) => choice)).toEqual(expected)
})
