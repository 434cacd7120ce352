import type { OwnHost } from '@berth/contract'
import { expect, test } from 'vitest'
import { clockTime } from '../../ui/format.ts'
import { obstacleOf, ordersOf, readCapacity, stateOf, toneOf } from './compute-labels.ts'

test('a machine that is refused or silent looks bad, and an unknown state is shown as it is', () => {
  expect(['ready', 'outdated', 'away', 'waiting', 'drained'].map(state => toneOf({ state }))).toEqual([
    'good',
    'bad',
    'bad',
    'quiet',
    'quiet',
  ])
  expect(stateOf({ state: 'outdated' })).toMatch('another release')
  expect(stateOf({ state: 'molten' })).toBe('molten')
})

test('a machine at rest tells until when, and why', () => {
  const restsUntil = '2026-03-01T12:05:00Z'
  const text = stateOf({ state: 'resting', restsUntil, restsBecause: 'no_answer' })
  expect(text).toBe(`Gets no sandbox until ${clockTime(restsUntil)}: it did not answer`)
  expect(stateOf({ state: 'resting', restsUntil, restsBecause: 'molten' })).toMatch('it failed')
  expect(toneOf({ state: 'resting' })).toBe('bad')
})

test.each([
  ['ready', 'Cordon, Drain'],
  ['resting', 'Use now, Cordon, Drain'],
  ['cordoned', 'Open, Drain'],
  ['draining', 'Open'],
  ['molten', 'Cordon, Drain'],
])('a machine that is %s can be asked to %s', (state, orders) => {
  expect(
    ordersOf({ state })
      .map(([label]) => label)
      .join(', '),
  ).toBe(orders)
})

test('an organization all of whose machines rest is told how long its work waits', () => {
  const host = (state: string, restsUntil: string | null = null) => ({ state, restsUntil }) as OwnHost
  const [early, late] = ['2026-03-01T12:05:00Z', '2026-03-01T12:06:00Z']
  const hosts = [host('resting', late), host('resting', early), host('drained')]
  expect(obstacleOf({ standing: 'ready', hosts })).toMatch(`wait until ${clockTime(early)}`)
  expect(obstacleOf({ standing: 'ready', hosts: [...hosts, host('ready')] })).toBeNull()
  expect(obstacleOf({ standing: 'shared', hosts })).toBeNull()
})

test('only an organization that may run nowhere is told what to do', () => {
  expect(['shared', 'ready'].map(standing => obstacleOf({ standing, hosts: [] }))).toEqual([null, null])
  expect(obstacleOf({ standing: 'not_configured', hosts: [] })).toMatch('Add one')
  expect(obstacleOf({ standing: 'outdated', hosts: [] })).toMatch('Install')
})

test.each([
  ['', { value: null }],
  [' 8 ', { value: 8 }],
  ['0', { fault: 'Enter a number from 1 to 10,000, or nothing.' }],
  ['2.5', { fault: 'Enter a number from 1 to 10,000, or nothing.' }],
])('a capacity of %j is %j', (text, typed) => {
  expect(readCapacity(text)).toEqual(typed)
})
