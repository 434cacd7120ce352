import { expect, test } from 'vitest'
import { isTightBy } from './memory-pressure.ts'

const info = (available: number) =>
  `MemTotal:       1000 kB\nMemFree:          10 kB\nMemAvailable:    ${available} kB\n`
const pressure = (share: string) => `some avg10=${share} avg60=0.00 avg300=0.00 total=1\nfull avg10=90.00 avg60=0.00\n`

test.each([
  ['memory is available', info(200), pressure('0.00'), false],
  ['little is available', info(99), pressure('0.00'), true],
  ['processes wait for memory', info(500), pressure('10.50'), true],
  ['a kernel without pressure', info(200), '', false],
  ['a host that tells nothing', '', '', false],
])('%s', (_, memory, stalled, isTight) => {
  expect(isTightBy(memory, stalled)).toBe(isTight)
})
