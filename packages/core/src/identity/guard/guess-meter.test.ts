import { expect, it } from 'vitest'
import { GuessMeter } from './guess-meter.ts'

it('lets an address guess sixty times at once, then once a second, and nobody else pays for it', () => {
  let now = 0
  const meter = new GuessMeter(() => now)
  for (let guess = 0; guess < 60; guess += 1) expect(meter.take('a', `wrong ${guess}`)).toBeNull()
  expect(meter.take('a', 'wrong')).toBe(1)
  expect(meter.take('b', 'wrong')).toBeNull()
  now += 1_000
  expect(meter.take('a', 'wrong')).toBeNull()
  expect(meter.take('a', 'wrong')).toBe(1)
})

it('counts no secret that is good, and knows it again for a minute', () => {
  let now = 0
  const meter = new GuessMeter(() => now)
  for (let request = 0; request < 200; request += 1) {
    expect(meter.take('a', 'good')).toBeNull()
    meter.wasGood('a', 'good')
  }
  for (let guess = 0; guess < 60; guess += 1) expect(meter.take('a', `wrong ${guess}`)).toBeNull()
  expect(meter.take('a', 'good')).toBeNull()
  meter.forget('good')
  expect(meter.take('a', 'good')).toBe(1)
  expect(meter.take('a', 'other')).toBe(1)
  now += 60_000
  expect(meter.take('a', 'good')).toBeNull()
})

it('remembers a bounded number of addresses', () => {
  const meter = new GuessMeter(() => 0)
  for (let guess = 0; guess < 61; guess += 1) meter.take('first', 'wrong')
  expect(meter.take('first', 'wrong')).toBe(1)
  for (let address = 0; address < 10_000; address += 1) meter.take(`address ${address}`, 'wrong')
  expect(meter.take('first', 'wrong')).toBeNull()
})
