import { expect, test } from 'vitest'
import { actionLabel, actorName, detailRows, targetLabel } from './audit-labels.ts'

test.each([
  ['member.changed', 'Member changed'],
  ['api_key.revoked', 'API key revoked'],
  ['sign_in.refused', 'Sign in refused'],
])('%s reads %s', (action, text) => {
  expect(actionLabel(action)).toBe(text)
})

test('people are called by name, and what has none by its kind', () => {
  expect(actorName({ kind: 'person', id: 'x', name: 'Ada\u202E' })).toBe('Ada⟨U+202E⟩')
  expect(actorName({ kind: 'person', id: 'x', name: null })).toBe('Somebody who has left')
  expect(actorName({ kind: 'robot', id: null, name: null })).toBe('robot')
})

test.each([
  ['membership/0f8fad5b-d9cb-469f-a165-70867728950e', 'Ada', 'Ada'],
  ['webhook endpoint 0f8fad5b-d9cb-469f-a165-70867728950e', null, ''],
  ['app nightly', null, 'nightly'],
  ['repository acme/web', null, 'acme/web'],
  ['everything', null, 'everything'],
  [null, null, ''],
])('the target %s of %s reads %s', (target, targetName, text) => {
  expect(targetLabel({ target, targetName })).toBe(text)
})

test('details are text', () => {
  expect(detailRows({ role: 'admin', permissions: ['a'], was_on: null })).toEqual([
    ['role', 'admin'],
    ['permissions', '["a"]'],
    ['was on', 'null'],
  ])
})
