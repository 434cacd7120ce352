import { eventFamilies, webhookErrors } from '@berth/contract'
import { expect, test } from 'vitest'
import { addressFault, familyLabel, isAccepted, outcomeLabel } from './webhook-labels.ts'

test('every family and every error has its words', () => {
  expect(Object.keys(familyLabel)).toEqual([...eventFamilies])
  for (const error of webhookErrors) expect(outcomeLabel({ error })).not.toBe(error)
})

test('an attempt is told by its answer, else by why there was none', () => {
  expect([{ status: 503 }, { error: 'dns_failed' as const }, {}].map(outcomeLabel)).toEqual([
    'HTTP 503',
    'The name has no address',
    'Under way',
  ])
  expect([{ status: 204 }, { status: 302 }, { error: 'timed_out' as const }].map(isAccepted)).toEqual([
    true,
    false,
    false,
  ])
})

test.each([
  ['', true],
  ['https://hooks.example.com/berth?x=1', true],
  ['hooks.example.com', false],
  ['ftp://hooks.example.com', false],
  ['https://a:b@hooks.example.com', false],
  ['https://hooks.example.com/#x', false],
])('address %j is fine: %s', (text, fine) => {
  expect(addressFault(text) === undefined).toBe(fine)
})
