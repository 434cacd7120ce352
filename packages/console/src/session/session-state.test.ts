import { continuationReasons, sessionPhases } from '@berth/contract'
import { expect, test } from 'vitest'
import { continuationNotes, stateOf } from './session-state.ts'

const continuation = {
  canContinue: true,
  state: 'live',
  conversation: { fidelity: 'live' },
  workspace: { fidelity: 'live' },
} as const

test.each(sessionPhases.map(phase => [phase]))('a Session in phase %s has one tone', phase => {
  const expected = { idle: 'quiet', awaiting: 'attention' }[phase as string] ?? 'active'
  expect(stateOf({ phase, continuation }).tone).toBe(expected)
})

test('an open approval needs a person although the Run goes on', () => {
  expect(stateOf({ phase: 'running', continuation }, { openInteractions: 1 }).tone).toBe('attention')
})

test('an archived Session needs nobody', () => {
  const session = { phase: 'awaiting', continuation, archivedAt: '2026-01-01T00:00:00Z' } as const
  expect(stateOf(session, { openInteractions: 1 })).toEqual({ label: 'Archived', tone: 'quiet' })
})

test('lost work needs a person, who has to reset the Session', () => {
  expect(stateOf({ phase: 'idle', continuation: { ...continuation, reason: 'checkpoint_missing' } }).tone).toBe('bad')
})

test('every reason of the contract has its words', () => {
  expect(Object.keys(continuationNotes).sort()).toEqual([...continuationReasons].sort())
})
