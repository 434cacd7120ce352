import { expect, test } from 'vitest'
import { hintOf, readBound, runBounds, spendingBounds } from './bounds.ts'

test.each([
  ['', { value: null }],
  [' 12.5 ', { value: 12.5 }],
  ['0.001', { fault: 'This would let nothing through.' }],
  ['-1', { fault: 'Enter a number above 0, or nothing for no bound.' }],
  ['1e9', { fault: 'Enter a number above 0, or nothing for no bound.' }],
])('%j dollars are %j', (text, typed) => {
  expect(readBound(text, {})).toEqual(typed)
})

test.each([
  ['20', { value: 20 }],
  ['2.5', { fault: 'Enter a whole number, or nothing for no bound.' }],
  ['0', { fault: 'This would let nothing through.' }],
])('%j calls are %j', (text, typed) => {
  expect(readBound(text, { whole: true })).toEqual(typed)
})

test('hints of costs name the models without a price, and nothing else does', () => {
  const model = { provider: 'p', aliases: [], isDefault: false, contextTokens: null, outputTokens: null }
  const able = { tools: true, reasoning: false }
  const offer = (ids: readonly string[], openProviders: string[] = [], restricted = false) => ({
    models: [
      {
        ...model,
        ...able,
        id: 'p/priced',
        allowed: true,
        price: { input: 1, cachedInput: 1, cacheWrite: 1, output: 1 },
      },
      { ...model, ...able, id: 'p/not-ours', allowed: false, price: null },
      ...ids.map(id => ({ ...model, ...able, id, allowed: true, price: null })),
    ],
    openProviders,
    restricted,
  })
  const hints = (offered: ReturnType<typeof offer> | undefined) =>
    [...runBounds, ...spendingBounds].map(bound => hintOf(bound, offered).replace(bound.hint, '').trim())
  const nothing = ['', '', '', '', '']
  expect(hints(undefined)).toEqual(nothing)
  expect(hints(offer([]))).toEqual(nothing)
  expect(hints(offer([], ['local'], true))).toEqual(nothing)
  const refused = 'Requests to p/a and whatever else local lists would be refused, because their cost is not known.'
  expect(hints(offer(['p/a'], ['local']))).toEqual([refused, '', '', refused, refused])
  expect(hints(offer(['p/a', 'p/b', 'p/c', 'p/d', 'p/e']))[0]).toMatch('to p/a, p/b, p/c, and 2 more would')
})
