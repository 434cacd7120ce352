import { expect, test } from 'vitest'
import { wholePrice } from './cost.ts'
import { mostCostOf } from './most-cost.ts'
import type { ResolvedModel } from './upstream.ts'

const price = wholePrice('anthropic', { input: 10, cachedInput: 1, output: 50 })
const most = (body: object, facts: object = {}) =>
  mostCostOf({ body: body as Record<string, unknown> }, { price, outputTokens: 1_000, ...facts } as ResolvedModel)
const inputOf = (body: object) => Buffer.byteLength(JSON.stringify(body))

test('the most that a request costs is what it writes to a cache and the longest answers', () => {
  const short = { messages: ['hé'], max_tokens: 100, n: 2 }
  expect(most(short)).toBeCloseTo((inputOf(short) * 12.5 + 200 * 50) / 1e6)
  const hour = { messages: [{ cache_control: { ttl: '1h' } }] }
  expect(most(hour)).toBeCloseTo((inputOf(hour) * 12.5 * 1.6 + 1_000 * 50) / 1e6)
  const google = { generationConfig: { maxOutputTokens: 10, candidateCount: 3 }, image: 'x'.repeat(9_000) }
  expect(most(google, { contextTokens: 500 })).toBeCloseTo((500 * 12.5 + 30 * 50) / 1e6)
})
