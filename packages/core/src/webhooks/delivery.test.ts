import { expect, it } from 'vitest'
import { settle } from './delivery.ts'

const endedAt = new Date('2026-01-01T00:00:00Z')

/** What follows an attempt, by the attempts before it: the seconds until the next one, or the end. */
const table: readonly (readonly [tries: number, success: string, failure: string | number])[] = [
  [0, 'succeeded', 60],
  [1, 'succeeded', 120],
  [2, 'succeeded', 240],
  [3, 'succeeded', 480],
  [4, 'succeeded', 960],
  [5, 'succeeded', 'failed'],
]

it.each(table)(
  'after %i attempts a success ends a delivery, and a failure has its pause',
  (tries, success, failure) => {
    const next = (outcome: Parameters<typeof settle>[1]) => {
      const { status, dueAt, tries: counted } = settle(tries, outcome, endedAt)
      return [dueAt === null ? status : (dueAt.getTime() - endedAt.getTime()) / 1000, counted]
    }
    for (const status of [200, 204, 299]) expect(next({ status })).toEqual([success, tries + 1])
    for (const status of [199, 300, 410, 500]) expect(next({ status })).toEqual([failure, tries + 1])
    expect(next({ error: 'timed_out' })).toEqual([failure, tries + 1])
    expect(next({ error: 'authority' })).toEqual(['failed', tries])
  },
)
