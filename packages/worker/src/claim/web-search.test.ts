import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { SearchConfig } from '@berth/platform/settings/config-file.ts'
import { afterAll, expect, test } from 'vitest'
import { withSearch } from './web-search.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  stack.defer(() => void server.close().closeAllConnections())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let answer = ''
let received: { request: IncomingMessage; body: string } | undefined
const provider = await serve(async (request, response) => {
  received = { request, body: await text(request) }
  if (answer === 'redirect') response.writeHead(302, { location: '/elsewhere' }).end()
  else if (answer === 'refuse') response.writeHead(429).end('key sk-search is exhausted')
  else response.end(answer)
})

let search: SearchConfig
let isAtWork = true
const sandbox = await serve((incoming, outgoing) => {
  const others = { answer: async () => void outgoing.end('others') }
  const parts = { search, log: { warn() {} }, isAtWork: () => isAtWork }
  void withSearch(parts, others).answer(incoming, outgoing, incoming.url ?? '')
})
const ask = async (path = '/_berth/search', body: unknown = { query: 'a & b' }) => {
  const response = await fetch(`${sandbox}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, text: await response.text() }
}

const none = { url: undefined, keyHeader: undefined, baseUrl: undefined, model: undefined, apiKey: 'sk-search' }
const json = (part: Partial<SearchConfig> = {}): SearchConfig => ({
  ...none,
  kind: 'json',
  url: `${provider}/s`,
  ...part,
})
const found = { title: 'T', url: 'https://t.example/', text: 'X' }
const item = { title: 'T', url: found.url }

test.each<readonly [string, SearchConfig, object, object, object]>([
  [
    'a GET',
    json({ url: `${provider}/s?q={query}`, keyHeader: 'X-Token' }),
    { web: { results: [{ ...item, description: 'X' }, { title: 'no address' }] } },
    { method: 'GET', url: '/s?q=a%20%26%20b', headers: { 'x-token': 'sk-search' } },
    { results: [found] },
  ],
  [
    'a POST',
    json(),
    { organic: [{ title: 'T', link: found.url, snippet: 'X' }] },
    { method: 'POST', url: '/s', headers: { authorization: 'Bearer sk-search' } },
    { results: [found] },
  ],
  [
    'a model',
    { ...none, kind: 'openai-compatible', baseUrl: `${provider}/v1`, model: 'sonar' },
    { choices: [{ message: { content: 'Yes.', annotations: [{ url_citation: { ...item, content: 'X' } }] } }] },
    { method: 'POST', url: '/v1/chat/completions', headers: { authorization: 'Bearer sk-search' } },
    { answer: 'Yes.', results: [found] },
  ],
  [
    'a model that cites addresses',
    { ...none, kind: 'openai-compatible', baseUrl: `${provider}/v1`, model: 'sonar', apiKey: undefined },
    { choices: [{ message: { content: 'Yes.' } }], citations: [found.url] },
    { method: 'POST', url: '/v1/chat/completions' },
    { answer: 'Yes.', results: [{ ...found, title: '', text: '' }] },
  ],
])('a search by %s', async (_, config, body, request, result) => {
  search = config
  answer = JSON.stringify(body)
  const reply = await ask()
  expect(received?.request).toMatchObject(request)
  if (config.kind === 'openai-compatible')
    expect(JSON.parse(received?.body ?? '')).toEqual({ model: 'sonar', messages: [{ role: 'user', content: 'a & b' }] })
  expect(JSON.parse(reply.text)).toEqual(result)
})

test.each([
  ['refuse', 502, 'the search provider answered 429'],
  ['redirect', 502, 'the search provider did not answer'],
  ['x'.repeat(1024 ** 2 + 1), 502, 'the search provider did not answer'],
  ['nothing that is JSON', 200, '{"results":[]}'],
])('a provider that answers %.20s', async (given, status, message) => {
  search = json()
  answer = given
  expect(await ask()).toEqual({ status, text: message })
})

test('without a Run or a query nothing is asked, and other paths are left to others', async () => {
  search = json()
  answer = '{}'
  received = undefined
  expect(await ask('/_berth/search', { query: ' ' })).toMatchObject({ status: 400 })
  expect(await ask('/_berth/search', { query: 'x'.repeat(5000) })).toMatchObject({ status: 400 })
  isAtWork = false
  expect(await ask()).toEqual({ status: 403, text: 'no Run is active in this sandbox' })
  isAtWork = true
  expect(received).toBeUndefined()
  expect(await ask('/_berth/git-credential/get')).toEqual({ status: 200, text: 'others' })
})
