import { describe, expect, test } from 'vitest'
import { ApiError } from '../api-error.ts'
import type { Principal } from '../identity/principal.ts'
import { StreamBudget } from './stream-budget.ts'

const installation = (id: string): Principal => ({
  kind: 'app_installation',
  id,
  organizationId: 'o',
  capabilities: new Set(),
  expiresAt: null,
})

const allowance = { perAuthority: 64, perProcess: 256 }

function refusal(take: () => unknown) {
  try {
    take()
  } catch (error) {
    if (error instanceof ApiError) return [error.status, error.code, error.headers, error.fields]
    throw error
  }
  return null
}

const take = (budget: StreamBudget, id: string, count: number) =>
  Array.from({ length: count }, () => budget.take(installation(id)))

describe('the budget of streams', () => {
  test('is 64 for an authority', () => {
    const budget = new StreamBudget(allowance)
    take(budget, 'a', 64)
    expect(refusal(() => budget.take(installation('a')))).toEqual([
      429,
      'cloud_rate_limit_exceeded',
      { 'retry-after': '2' },
      { retryAfterSeconds: 2 },
    ])
    take(budget, 'b', 64)
    expect(budget.open).toBe(128)
  })

  test('is 256 for a process', () => {
    const budget = new StreamBudget(allowance)
    for (const id of ['a', 'b', 'c', 'd']) take(budget, id, 64)
    expect(refusal(() => budget.take(installation('e')))).toEqual([
      503,
      'event_stream_unavailable',
      { 'retry-after': '2' },
      {},
    ])
    expect(refusal(() => budget.take(installation('a')))?.[0]).toBe(429)
    expect(budget.open).toBe(256)
  })

  test('tells authorities apart by kind and organization, too', () => {
    const budget = new StreamBudget({ perAuthority: 1, perProcess: 9 })
    const one = installation('a')
    for (const other of [one, { ...one, kind: 'person' as const }, { ...one, organizationId: 'p' }]) budget.take(other)
    expect(budget.open).toBe(3)
  })

  test('takes a place back once, however often it is given back', () => {
    const budget = new StreamBudget({ perAuthority: 2, perProcess: 3 })
    const [first] = take(budget, 'a', 2)
    take(budget, 'b', 1)
    expect(refusal(() => budget.take(installation('b')))?.[0]).toBe(503)
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    expect(budget.open).toBe(2)
    budget.take(installation('a'))
    expect(refusal(() => budget.take(installation('a')))?.[0]).toBe(429)
    expect(refusal(() => budget.take(installation('b')))?.[0]).toBe(503)
  })
})
