import type { SessionState } from '@berth/contract'
import { expect, test } from 'vitest'
import type { SessionListSearch } from '../routing/to.ts'
import { recounted, withSessions } from './list-additions.ts'
import { byDay, groupList, type ListData, type ListedSession, withState } from './list-data.ts'

const listed = (id: string, state: Partial<SessionState> = {}, createdAt = '2026-01-01T00:00:00Z'): ListedSession => {
  const shared = { id, title: id, lastEventSequence: 5, updatedAt: '2026-01-01T00:00:00Z', phase: 'idle' as const }
  const status = 'done' as const
  return {
    session: { ...shared, status, createdAt } as ListedSession['session'],
    state: {
      ...shared,
      status,
      lastRun: null,
      archived: false,
      attention: null,
      workLost: false,
      unread: false,
      pinned: false,
      snoozed: null,
      viewedMarks: 0,
      costUsd: 0,
      pull: null,
      startedBy: null,
      startedThrough: null,
      ...state,
    },
  }
}
const dataOf = (...pages: ListedSession[][]): ListData => ({
  pages: pages.map(sessions => ({ sessions, nextCursor: null, beyond: {} })),
  pageParams: [],
})
const shown = (data: ListData, search: SessionListSearch = { everyone: true }) =>
  groupList(data, search, 'me').map(({ id, sessions }) => [id, sessions.map(({ session }) => session.id)])
const asks = (deadline?: string) =>
  ({
    attention: { openInteractions: 1, kind: 'approval', ...(deadline && { deadline }) },
    status: 'needs_you',
  }) as const

test('what is due first comes first, and what works keeps its place', () => {
  const data = dataOf([
    listed('old', { status: 'working', updatedAt: '2026-01-09T00:00:00Z' }, '2026-01-01T00:00:00Z'),
    listed('young', { status: 'working' }, '2026-01-02T00:00:00Z'),
    listed('whenever', asks()),
    listed('lost', { status: 'needs_you', updatedAt: '2025-01-01T00:00:00Z' }),
    listed('later', asks('2026-01-03T00:00:00Z')),
    listed('soon', asks('2026-01-02T00:00:00Z')),
    listed('kept', { pinned: true }),
    listed('a', { updatedAt: '2026-01-01T00:00:00Z' }),
    listed('b', { updatedAt: '2026-01-05T00:00:00Z' }),
  ])
  expect(shown(data)).toEqual([
    ['needs_you', ['soon', 'later', 'whenever', 'lost']],
    ['working', ['young', 'old']],
    ['pinned', ['kept']],
    ['rest', ['b', 'a']],
  ])
})

test('a Session on two pages is shown once, and an archived one only among the archived', () => {
  const gone = listed('gone', { archived: true })
  expect(shown(dataOf([listed('a')], [listed('a'), gone]))).toEqual([['rest', ['a']]])
  expect(shown(dataOf([gone]), { archived: true, everyone: true })).toEqual([['rest', ['gone']]])
})

test('the feed moves a row at once, also out of a list of one state', () => {
  const data = dataOf([listed('a', { status: 'working' }), listed('b', { status: 'failed' })])
  const next = withState(data, { ...listed('a').state, ...asks(), lastEventSequence: 6, title: 'New' })
  expect(next && shown(next)).toEqual([
    ['needs_you', ['a']],
    ['rest', ['b']],
  ])
  expect(next?.pages[0]?.sessions[0]?.session.title).toBe('New')
  expect(next?.pages[0]?.sessions[0]?.session.status).toBe('needs_you')
  expect(next && shown(next, { state: 'working', everyone: true })).toEqual([])
  expect(shown(data, { state: 'failed', everyone: true })).toEqual([['rest', ['b']]])
})

test('an older state changes nothing, and an unknown Session is said to be unknown', () => {
  const data = dataOf([listed('a')])
  const late = withState(data, { ...listed('a').state, lastEventSequence: 4, title: 'Old' })
  expect(late?.pages[0]?.sessions[0]?.state.title).toBe('a')
  expect(withState(data, listed('c').state)).toBeNull()
})

test('what is added is there once', () => {
  const data = withSessions(dataOf([listed('a')], [listed('b')]), [listed('b', { status: 'working' }), listed('c')])
  expect(data.pages.map(({ sessions }) => sessions.map(({ session }) => session.id))).toEqual([['b', 'c', 'a'], []])
})

test('a list that is not everyone’s has what a person started or pinned, and whatever waits', () => {
  const mine = { startedBy: { id: 'me', name: 'Me' } }
  const data = dataOf([
    listed('own', mine),
    listed('theirs', { startedBy: { id: 'you', name: 'You' } }),
    listed('installed', { status: 'working' }),
    listed('waits', asks()),
    listed('kept', { pinned: true }),
    listed('whenever', { snoozed: {}, pinned: true }),
    listed('later', { ...asks(), snoozed: { until: '2026-01-11T09:00:00Z' } }),
  ])
  expect(shown(data, {})).toEqual([
    ['needs_you', ['waits']],
    ['pinned', ['kept']],
    ['snoozed', ['whenever', 'later']],
    ['rest', ['own']],
  ])
})

test('what is not loaded is counted, in a day only once the days before it are over', () => {
  const now = new Date(2026, 0, 10, 12).getTime()
  const on = (day: number) => ({ updatedAt: new Date(2026, 0, day, 9).toISOString() })
  const days = (...of: number[]) => {
    const sessions = of.map(day => listed(`${day}`, on(day)))
    const data: ListData = { pages: [{ sessions, nextCursor: 'c', beyond: { rest: 7 } }], pageParams: [] }
    const [rest] = groupList(data, { everyone: true }, 'me')
    return rest && byDay(rest, now).map(({ id, sessions, beyond, open }) => [id, sessions.length + beyond, open])
  }
  expect(days(10)).toEqual([['today', 1, true]])
  expect(days(10, 9)).toEqual([
    ['today', 1, false],
    ['yesterday', 1, true],
  ])
  expect(days(10, 9, 8, 1)).toEqual([
    ['today', 1, false],
    ['yesterday', 1, false],
    ['earlier', 9, false],
  ])
  const data = recounted(dataOf([listed('a'), listed('b')]), { everyone: true }, 'me', 5)
  expect(groupList(data, { everyone: true }, 'me')[0]?.beyond).toBe(3)
})
