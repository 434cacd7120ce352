import { expect, test } from 'vitest'
import { timeText } from './time-text.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

test.each([
  ['2026-03-01T11:59:30.123Z', 'just now'],
  ['2026-03-01T12:00:30Z', 'in a moment'],
  ['2026-03-01T11:01:00.000Z', '59 min ago'],
  ['2026-03-01T15:30:00.000Z', 'in 3 h'],
  ['2026-02-10T12:00:00.000Z', '19 d ago'],
  ['2026-01-30T12:00:00.000Z', '2026-01-30'],
  ['2027-03-01T12:00:00.000Z', '2027-03-01'],
])('says %s as people do', (text, expected) => {
  expect(timeText(text, now)).toBe(expected)
})

test.each(['2026-03-01', 'on 2026-03-01T12:00:00Z', '2026-13-41T12:00:00Z', '2026-03-01T12:00:00+02:00', ''])(
  'leaves %j as it is',
  text => {
    expect(timeText(text, now)).toBeNull()
  },
)
