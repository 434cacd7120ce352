import { expect, test } from 'vitest'
import { isDay } from './choices.ts'
import { daysOfRange, daysOfSearch, faultOfDays } from './days.ts'

/** Late in the evening of a leap year's March 3rd. */
const now = Date.UTC(2028, 2, 3, 23, 59, 59)

test.each([
  ['7d', '2028-02-26', '2028-03-03'],
  ['30d', '2028-02-03', '2028-03-03'],
  ['90d', '2027-12-05', '2028-03-03'],
  ['month', '2028-03-01', '2028-03-03'],
  ['last-month', '2028-02-01', '2028-02-29'],
] as const)('%s means %s to %s', (range, from, to) => {
  expect(daysOfRange(range, now)).toEqual({ from, to })
})

test('last month is in the last year in January', () => {
  expect(daysOfRange('last-month', Date.UTC(2028, 0, 1))).toEqual({ from: '2027-12-01', to: '2027-12-31' })
})

test('two days of the URL win over a range; half of them count for nothing', () => {
  const days = { from: '2028-01-01', to: '2028-01-02' }
  expect(daysOfSearch({ ...days, range: '7d' }, now)).toEqual(days)
  expect(daysOfSearch({ from: '2028-01-01' }, now)).toEqual(daysOfRange('30d', now))
})

test.each([
  ['2028-01-02', '2028-01-01', 'The first day is after the last.'],
  ['2027-01-01', '2028-01-02', 'At most 366 days at once.'],
  ['2027-01-02', '2028-01-02', null],
  ['', '2028-01-02', 'Choose two days.'],
])('%s to %s: %s', (from, to, fault) => {
  expect(faultOfDays({ from, to })).toBe(fault)
})

test.each([
  ['2028-02-29', true],
  ['2027-02-29', false],
  ['2028-2-1', false],
  [20280201, false],
])('%j is a day: %j', (value, is) => {
  expect(isDay(value)).toBe(is)
})
