import { expect, test } from 'vitest'
import { reasoningOf } from './reasoning.ts'

test.each<[Parameters<typeof reasoningOf>[0]['kind'], string, string, string, string]>([
  ['anthropic', 'claude-3-7-sonnet-20250219', 'budget', 'low', 'max'],
  ['anthropic', 'claude-sonnet-4-20250514', 'budget', 'low', 'max'],
  ['anthropic', 'claude-opus-4-5-20251101', 'budget', 'low', 'max'],
  ['anthropic', 'claude-opus-4-6', 'adaptive', 'low', 'max'],
  ['anthropic', 'claude-sonnet-5', 'adaptive', 'low', 'max'],
  ['anthropic', 'kimi-k3', 'budget', 'low', 'max'],
  ['google', 'gemini-2.5-pro', 'budget', 'low', 'high'],
  ['google', 'gemini-3.1-pro-preview', 'level', 'low', 'high'],
  ['google', 'gemini-3-flash-preview', 'level', 'minimal', 'high'],
  ['google', 'gemini-3.8-flash', 'level', 'low', 'high'],
  ['openai', 'gpt-5-mini', 'effort', 'minimal', 'high'],
  ['openai', 'gpt-5.1', 'effort', 'low', 'high'],
  ['openai', 'gpt-5.5', 'effort', 'low', 'xhigh'],
  ['openai', 'gpt-6-sol', 'effort', 'low', 'max'],
  ['openai-compatible', 'gpt-6-sol', 'effort', 'low', 'high'],
])('the %s model %s is asked to think by %s, from %s to %s', (kind, model, control, least, most) => {
  expect(reasoningOf({ kind, model })).toEqual({
    control,
    efforts: { minimal: least, low: 'low', medium: 'medium', high: 'high', max: most },
  })
})
