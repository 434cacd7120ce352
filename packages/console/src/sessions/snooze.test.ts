import { describe, expect, it } from 'vitest'
import { snoozeChoices } from './snooze.ts'

describe('what a Session can be snoozed to', () => {
  const untilOf = (now: Date) =>
    snoozeChoices(now).map(([, { until }]) => until && new Date(until).toLocaleString('en-GB', { timeZone: undefined }))

  it.each([
    ['a Monday morning', new Date(2026, 10, 30, 8), '01/12/2026, 09:00:00', '07/12/2026, 09:00:00'],
    ['a Friday', new Date(2026, 11, 4, 18), '05/12/2026, 09:00:00', '07/12/2026, 09:00:00'],
    ['a Sunday', new Date(2026, 11, 6, 23), '07/12/2026, 09:00:00', '07/12/2026, 09:00:00'],
    ['the end of a year', new Date(2026, 11, 31, 12), '01/01/2027, 09:00:00', '04/01/2027, 09:00:00'],
  ])('on %s is the next morning, or that of Monday', (_, now, tomorrow, nextWeek) => {
    expect(untilOf(now)).toEqual([tomorrow, nextWeek, undefined])
  })
})
