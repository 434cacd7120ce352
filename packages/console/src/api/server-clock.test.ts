import { beforeEach, expect, it, vi } from 'vitest'

const at = (time: string) => Date.parse(`2026-01-01T${time}Z`)
let observeServerTime: typeof import('./server-clock.ts').observeServerTime
let serverNow: typeof import('./server-clock.ts').serverNow
beforeEach(async () => {
  // The module keeps the offset, and each test begins with a page that has heard nothing.
  vi.resetModules()
  ;({ observeServerTime, serverNow } = await import('./server-clock.ts'))
})

it('follows a server whose clock is ahead, to half a second', () => {
  observeServerTime('Thu, 01 Jan 2026 00:10:00 GMT', at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:10:01.500'))
})

it('learns nothing from a date that is missing or none', () => {
  for (const date of [null, 'x']) observeServerTime(date, at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:00:01'))
  observeServerTime('Thu, 01 Jan 2026 00:10:00 GMT', at('00:00:00'))
  for (const date of [null, 'x']) observeServerTime(date, at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:10:01.500'))
})

it('takes a first answer however near it is, and later only a difference of more than a second', () => {
  observeServerTime('Thu, 01 Jan 2026 00:00:00 GMT', at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:00:01.500'))
  observeServerTime('Thu, 01 Jan 2026 00:00:01 GMT', at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:00:01.500'))
  observeServerTime('Thu, 01 Jan 2026 00:00:02 GMT', at('00:00:00'))
  expect(serverNow(at('00:00:01'))).toBe(at('00:00:03.500'))
})
