import type { SessionState } from '@berth/contract'
import { expect, test } from 'vitest'
import { KnownStates } from './known-states.ts'

const state = (lastEventSequence: number, id = 's') => ({ id, lastEventSequence }) as SessionState

test('a change is told once, whether the list or the feed is first', () => {
  const known = new KnownStates()
  const [first, second, third] = [state(1), state(2), state(3)]
  expect(known.read(first)).toBeNull()
  expect(known.read(second)).toEqual({ before: first })
  // The feed arrives later with the same states, which are compared with those of the list.
  const again = { ...second }
  expect(known.received(again)?.before).toBe(second)
  expect(known.received(third)?.before).toBe(again)
  expect(known.read({ ...third })?.before).toBe(third)
})

test('what is older than known changes nothing', () => {
  const known = new KnownStates()
  const newest = state(5)
  expect(known.received(newest)).toEqual({ before: undefined })
  expect(known.read(state(4))).toBeNull()
  expect(known.received(state(4))).toBeNull()
  expect(known.received(state(6))?.before).toBe(newest)
})

test('the Session that was heard of longest ago is forgotten first', () => {
  const known = new KnownStates()
  for (let at = 0; at < 2_000; at++) known.received(state(1, String(at)))
  known.received(state(2, '0'))
  known.received(state(1, 'one more'))
  expect([known.received(state(3, '0'))?.before?.lastEventSequence, known.received(state(3, '1'))?.before]).toEqual([
    2,
    undefined,
  ])
})
