import type { SessionState } from '@berth/contract'
import { expect, test } from 'vitest'
import { noticeOf } from './notice.ts'

const state = (change: Partial<SessionState> = {}): SessionState => ({
  id: 's',
  title: 't',
  lastEventSequence: 1,
  updatedAt: '2026-01-01T00:00:00Z',
  phase: 'running',
  archived: false,
  attention: null,
  workLost: false,
  unread: true,
  pinned: false,
  viewedMarks: 0,
  costUsd: 0,
  pull: null,
  startedBy: null,
  ...change,
})
const asking = (openInteractions: number) => ({ openInteractions, kind: 'approval' }) as const

test.each([
  ['a first request', state(), state({ attention: asking(1) }), 'Asks to be allowed'],
  ['a request of a Session that was not known', undefined, state({ attention: asking(1) }), 'Asks to be allowed'],
  ['the same request again', state({ attention: asking(1) }), state({ attention: asking(1) }), null],
  ['one more request', state({ attention: asking(1) }), state({ attention: asking(2) }), 'Asks to be allowed'],
  ['the end of a Run', state(), state({ phase: 'idle' }), 'Has finished'],
  ['the loss of its work', state(), state({ phase: 'idle', workLost: true }), 'Has lost its work'],
  ['a Session that rests', state({ phase: 'idle' }), state({ phase: 'idle' }), null],
  ['a step of a Run', state(), state(), null],
  ['somebody else’s Session', state(), state({ attention: asking(1), unread: false }), null],
  ['a pinned one', state(), state({ attention: asking(1), unread: false, pinned: true }), 'Asks to be allowed'],
  ['an archived one', state(), state({ phase: 'idle', archived: true }), null],
])('%s', (_, before, after, text) => {
  expect(noticeOf(before, after)).toBe(text)
})
