import { expect, test } from 'vitest'
import { pricedModels } from './priced-models.ts'

const model = { id: 'large', contextTokens: 200_000, outputTokens: undefined, tools: true, reasoning: false } as const
const provider = { kind: 'openai', baseUrl: undefined, apiKey: 'secret', wire: ['chat'] } as const
const price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 }
const config = {
  providers: [
    { ...provider, id: 'acme', models: [{ ...model, modalities: ['text'], price }] },
    { ...provider, id: 'open', models: undefined },
  ],
  models: {
    default: 'best',
    aliases: { best: 'acme/large' },
    fallbacks: {},
    details: { 'open/small': { ...model, id: 'small', modalities: ['text'], price: undefined } },
  },
} as const

test('models come with prices, aliases and what is not known of them, and with no key', () => {
  const listed = pricedModels(config, null)
  expect(listed).toEqual({
    models: [
      {
        id: 'acme/large',
        provider: 'acme',
        aliases: ['best'],
        isDefault: true,
        allowed: true,
        contextTokens: 200_000,
        outputTokens: null,
        tools: true,
        reasoning: false,
        price,
      },
      expect.objectContaining({ id: 'open/small', provider: 'open', isDefault: false, price: null }),
    ],
    openProviders: ['open'],
    restricted: false,
  })
  expect(JSON.stringify(listed)).not.toContain('secret')
})

test('models that the operator did not allow are listed as such', () => {
  const { models, restricted } = pricedModels(config, new Set(['open/small']))
  expect([restricted, models.map(({ allowed }) => allowed)]).toEqual([true, [false, true]])
})
