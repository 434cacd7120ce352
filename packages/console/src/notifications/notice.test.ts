import type { SessionState } from '@berth/contract'
import { expect, test } from 'vitest'
import { noticeOf } from './notice.ts'

const state = (change: Partial<SessionState> = {}): SessionState => ({
  id: 's',
  title: 't',
  lastEventSequence: 1,
  updatedAt: '2026-01-01T00:00:00Z',
  phase: 'running',
  status: 'working',
  lastRun: null,
  archived: false,
  attention: null,
  workLost: false,
  unread: true,
  pinned: false,
  snoozed: null,
  viewedMarks: 0,
  costUsd: 0,
  pull: null,
  startedBy: null,
  startedThrough: null,
  ...change,
})
const asking = (openInteractions: number) => ({ openInteractions, kind: 'approval' }) as const

test.each([
  ['a first request', state(), state({ attention: asking(1) }), 'Asks to be allowed'],
  ['a request of a Session that was not known', undefined, state({ attention: asking(1) }), 'Asks to be allowed'],
  ['the same request again', state({ attention: asking(1) }), state({ attention: asking(1) }), null],
  ['one more request', state({ attention: asking(1) }), state({ attention: asking(2) }), 'Asks to be allowed'],
  ['the end of a Run', state(), state({ status: 'done' }), 'Has finished'],
  ['the failure of a Run', state(), state({ status: 'failed' }), 'Has failed'],
  ['a stop', state({ status: 'needs_you' }), state({ status: 'stopped' }), 'Has stopped'],
  ['the loss of its work', state(), state({ status: 'needs_you', workLost: true }), 'Has lost its work'],
  ['a Session that rests', state({ status: 'done' }), state({ status: 'merged' }), null],
  ['a step of a Run', state(), state(), null],
  ['somebody else’s Session', state(), state({ attention: asking(1), unread: false }), null],
  ['a pinned one', state(), state({ attention: asking(1), unread: false, pinned: true }), 'Asks to be allowed'],
  ['an archived one', state(), state({ status: 'done', archived: true }), null],
])('%s', (_, before, after, text) => {
  expect(noticeOf(before, after)).toBe(text)
})
