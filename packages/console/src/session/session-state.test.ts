import { continuationReasons, sessionPhases } from '@berth/contract'
import { expect, test } from 'vitest'
import { continuationNotes, stateOf } from './session-state.ts'

const continuation = {
  canContinue: true,
  state: 'live',
  conversation: { fidelity: 'live' },
  workspace: { fidelity: 'live' },
} as const

test.each(sessionPhases.map(phase => [phase]))('a Session in phase %s is in one group', phase => {
  const expected = { idle: 'done', awaiting: 'needs-you' }[phase as string] ?? 'working'
  expect(stateOf({ phase, continuation }).group).toBe(expected)
})

test('an open approval needs a person although the Run goes on', () => {
  expect(stateOf({ phase: 'running', continuation }, { openInteractions: 1 }).group).toBe('needs-you')
})

test('an archived Session needs nobody', () => {
  const session = { phase: 'awaiting', continuation, archivedAt: '2026-01-01T00:00:00Z' } as const
  expect(stateOf(session, { openInteractions: 1 })).toMatchObject({ group: 'done', label: 'Archived' })
})

test('lost work needs a person, who has to reset the Session', () => {
  expect(stateOf({ phase: 'idle', continuation: { ...continuation, reason: 'checkpoint_missing' } }).group).toBe(
    'needs-you',
  )
})

test('every reason of the contract has its words', () => {
  expect(Object.keys(continuationNotes).sort()).toEqual([...continuationReasons].sort())
})
