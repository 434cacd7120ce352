import { costOf, wholePrice } from '@berth/core/accounting/cost.ts'
import { expect, it } from 'vitest'
import { toUsage } from '../translate/usage.ts'
import { readMessagesUsage } from './messages-relay.ts'
import { readUsage } from './stream-relay.ts'

const cache = { cached_tokens: 60, cache_write_tokens: 30 }
const chat = { prompt_tokens: 100, completion_tokens: 5 }

it.each([
  [{ input_tokens: 100, output_tokens: 5, input_tokens_details: cache }, 60, 30],
  [{ ...chat, prompt_tokens_details: cache }, 60, 30],
  [{ ...chat, prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }, 60, 0],
  [{ ...chat, cached_tokens: 60 }, 60, 0],
  [{ ...chat, cache_read_input_tokens: 60, cache_creation_input_tokens: 30 }, 60, 30],
  [{ ...chat, prompt_tokens_details: { cached_tokens: 1e9, cache_write_tokens: 1e9 } }, 100, 0],
  [{ ...chat, prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 90 } }, 90, 10],
  [{ ...chat, prompt_tokens_details: { cached_tokens: -1, cache_write_tokens: '7' } }, 0, 0],
])('%j are %i tokens from a cache and %i into one, and never more than the input', (usage, cached, written) => {
  expect(readUsage(usage)).toMatchObject({ inputTokens: 100, cachedInputTokens: cached, cacheWriteTokens: written })
})

it('the package of a provider reports no more cached tokens than the input either', () => {
  const inputTokens = { total: 100, noCache: -80, cacheRead: 90, cacheWrite: 90 }
  const usage = toUsage({ inputTokens, outputTokens: { total: 5, text: 5, reasoning: 0 } })
  expect(usage).toMatchObject({ inputTokens: 100, cachedInputTokens: 90, cacheWriteTokens: 10 })
})

it('what is written to a cache for an hour is booked at its price, translated too', () => {
  const price = wholePrice('anthropic', { input: 1, cachedInput: 0.1, output: 5 })
  const raw = {
    ...{ input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 3e6 },
    cache_creation: { ephemeral_5m_input_tokens: 1e6, ephemeral_1h_input_tokens: 2e6 },
  }
  const inputTokens = { total: 3e6, noCache: 0, cacheRead: 0, cacheWrite: 3e6 }
  const translated = toUsage({ inputTokens, outputTokens: { total: 0, text: 0, reasoning: 0 }, raw })
  expect([readMessagesUsage(raw), translated].map(usage => costOf(usage, price))).toEqual([1.25 + 4, 1.25 + 4])
  const five = { ...raw, cache_creation: { ephemeral_1h_input_tokens: 0 } }
  expect(costOf(readMessagesUsage(five), price)).toBe(3.75)
})
