import { expect, test } from 'vitest'
import { wholePrice } from './cost.ts'
import { mostCostOf } from './most-cost.ts'
import type { ResolvedModel } from './upstream.ts'

const price = wholePrice('anthropic', { input: 10, cachedInput: 1, output: 50 })
const model = (facts: object = {}) => ({ price, outputTokens: 1_000, ...facts }) as ResolvedModel
const most = (body: object, facts: object = {}) =>
  mostCostOf({ body: body as Record<string, unknown> }, [model(facts), model({ price: undefined })])
const inputOf = (body: object) => Buffer.byteLength(JSON.stringify(body))

test('the most that a request costs is what it writes to a cache and the longest answers', () => {
  const short = { messages: ['hé'], max_tokens: 100, n: 2 }
  expect(most(short)).toBeCloseTo((inputOf(short) * 12.5 + 200 * 50) / 1e6)
  const hour = { messages: [{ cache_control: { ttl: '1h' } }] }
  expect(most(hour)).toBeCloseTo((inputOf(hour) * 12.5 * 1.6 + 1_000 * 50) / 1e6)
  const google = { generationConfig: { maxOutputTokens: 10, candidateCount: 3 }, image: 'x'.repeat(9_000) }
  expect(most(google, { contextTokens: 500 })).toBeCloseTo((500 * 12.5 + 30 * 50) / 1e6)
})

const output = { max_tokens: 1 }
const tokens = (body: object, facts?: object) => Math.round((most({ ...output, ...body }, facts) * 1e6 - 50) / 12.5)

test.each([
  { image_url: { url: 'https://example.com/a.png' } },
  { image_url: { detail: 'high', url: 'https://example.com/a.png' } },
  { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
  { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  { inlineData: { mimeType: 'image/png', data: 'AA==' } },
])('an image is more than the bytes that name it: %j', part => {
  const body = { ...output, content: [part, part] }
  expect(tokens(body)).toBe(inputOf(body) + 2 * 50_000)
  expect(tokens(body, { contextTokens: 60_000 })).toBe(60_000)
})

test.each([
  { type: 'input_file', file_id: 'file-1' },
  { type: 'input_file', file_url: 'https://example.com/a.pdf' },
  { file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
  { type: 'image', source: { type: 'file', file_id: 'file-1' } },
  { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
  { type: 'item_reference', id: 'msg_1' },
  { fileData: { fileUri: 'https://example.com/a' } },
  { type: 'file_search', vector_store_ids: ['vs_1'] },
])('a reference may fill the whole context: %j', part => {
  expect(tokens({ content: [part] }, { contextTokens: 200_000 })).toBe(200_000)
  expect(tokens({ content: [part] })).toBe(1_000_000)
})

test.each([
  { content: 'She wrote {"file_id":"file-1","image_url":"https://example.com"} into the form.' },
  { tools: [{ parameters: { properties: { file_id: { type: 'string' }, image_url: { type: 'string' } } } }] },
])('text and schemas that mention one are bytes: %j', body => {
  expect(tokens(body)).toBe(inputOf({ ...output, ...body }))
})
