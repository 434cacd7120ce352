import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { patience } from './patience.ts'

let now = 0
beforeEach(() => {
  now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => void vi.restoreAllMocks())

test('patience ends with the time in which the process looked', () => {
  const isLongEnough = patience(1_000)
  const checks = Array.from({ length: 101 }, () => {
    now += 10
    return isLongEnough()
  })
  expect(checks.indexOf(true)).toBe(100)
})

test('a minute in which the process did not run costs a tenth of a second of patience', () => {
  const isLongEnough = patience(1_000)
  now += 60_000
  expect(isLongEnough()).toBe(false)
  const checks = Array.from({ length: 100 }, () => {
    now += 10
    return isLongEnough()
  })
  expect(checks.indexOf(true)).toBe(90)
})

test('a pause that the caller makes itself counts whole', () => {
  const isLongEnough = patience(1_000, 200)
  const checks = Array.from({ length: 6 }, () => {
    now += 220
    return isLongEnough()
  })
  expect(checks.indexOf(true)).toBe(4)
})
