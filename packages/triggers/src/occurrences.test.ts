import { describe, expect, it } from 'vitest'
import { judgeSchedule, nextOccurrence } from './occurrences.ts'

/** The next occurrences after a time, in UTC. */
function occurrences(cron: string, timeZone: string, after: string, count: number): string[] {
  const found: string[] = []
  for (let at = new Date(after); found.length < count; ) {
    const next = nextOccurrence({ cron, timeZone }, at)
    if (next === null) break
    found.push(next.toISOString().slice(0, 16))
    at = next
  }
  return found
}

describe('a schedule', () => {
  it.each([
    ['0 7 * * 1-5', 'UTC', '2026-11-27T07:00:00Z', ['2026-11-30T07:00', '2026-12-01T07:00']],
    ['*/20 * * * *', 'UTC', '2026-11-27T07:00:01Z', ['2026-11-27T07:20', '2026-11-27T07:40']],
    ['0 9 1 * *', 'America/New_York', '2026-11-27T00:00:00Z', ['2026-12-01T14:00', '2027-01-01T14:00']],
    // 02:30 is skipped on the 29th of March, and comes twice on the 25th of October.
    [
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T00:00:00Z',
      ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T00:00:00Z',
      ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    // An interval goes on through the repeated hour.
    [
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00:00Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
    ],
    ['0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', ['2028-02-29T00:00']],
  ])('%s in %s', (cron, timeZone, after, expected) => {
    expect(occurrences(cron, timeZone, after, expected.length)).toEqual(expected)
  })

  it.each([
    ['* * * *', undefined],
    ['* * * * * *', undefined],
    ['61 * * * *', undefined],
    ['every day', undefined],
    ['@daily', undefined],
    ['', undefined],
    ['0 0 31 2 *', undefined],
    ['0 0 * * *', 'Europe/Atlantis'],
    ['0 0 * * *', '+25:00'],
    ['2027-01-01T00:00:00', undefined],
  ])('is refused as %j in %j', (cron, timeZone) => {
    const written = timeZone === undefined ? { cron } : { cron, timeZone }
    expect(() => judgeSchedule(written, new Date('2026-11-27T00:00:00Z'))).toThrow('invalid_request')
  })
})
