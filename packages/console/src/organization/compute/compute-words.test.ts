import { expect, test } from 'vitest'
import { lookOf, obstacleOf, readCapacity, stateOf } from './compute-words.ts'

test('a machine that is refused or silent looks bad, and an unknown state is shown as it is', () => {
  expect(['ready', 'outdated', 'away', 'waiting', 'drained'].map(state => lookOf({ state }))).toEqual([
    'good',
    'bad',
    'bad',
    'quiet',
    'quiet',
  ])
  expect(stateOf({ state: 'outdated' })).toMatch('another release')
  expect(stateOf({ state: 'molten' })).toBe('molten')
})

test('only an organization that may run nowhere is told what to do', () => {
  expect(['shared', 'ready'].map(standing => obstacleOf({ standing }))).toEqual([null, null])
  expect(obstacleOf({ standing: 'not_configured' })).toMatch('Admit one')
  expect(obstacleOf({ standing: 'outdated' })).toMatch('Install')
})

test.each([
  ['', { value: null }],
  [' 8 ', { value: 8 }],
  ['0', { fault: 'Enter a number from 1 to 10,000, or nothing.' }],
  ['2.5', { fault: 'Enter a number from 1 to 10,000, or nothing.' }],
])('a capacity of %j is %j', (text, typed) => {
  expect(readCapacity(text)).toEqual(typed)
})
