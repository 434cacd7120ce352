import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, expect, test } from 'vitest'
import { fetchPage } from '../src/tools/web/fetch-page.ts'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { call, toolsOf } from './support/scripted-gateway.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
let engine: Engine | undefined
afterEach(async () => {
  await engine?.[Symbol.asyncDispose]()
  engine = undefined
})

const page = `<!doctype html><html><head><title>Till &amp; Co</title><script>if (1 < 2) alert("</p>")</script></head>
<body><!-- <p>not this --><h2> The
 till </h2><p>Opens at&nbsp;<b>9</b>,<br>see <a class="a>b" href="../hours?a=1&amp;b=2">the <i>hours</i></a>.</p>
<ul><li><p>One &#8211; 1</p></li><li>Two &lt;b&gt;</li></ul><table><tr><th>A</th><td>1</td></tr></table>
<pre>  if (a)
    b()</pre><svg><text>no</text></svg><p>2 < 3 &unknown;</p></body></html>`

const pageText = [
  ...['Till & Co', '', '## The till', '', 'Opens at 9,', 'see [the hours](http://docs.example/hours?a=1&b=2).', ''],
  ...['- One – 1', '', '- Two <b>', '', 'A | 1', '', '```', '  if (a)', '    b()', '```', '', '2 < 3 &unknown;'],
].join('\n')

/** Sends the same bytes for ever, at the pace of the reader; counts them. */
async function sendForEver(response: ServerResponse, type: string, piece: string, sent: { bytes: number }) {
  const chunk = Buffer.from(piece.repeat(1024))
  const endless = function* () {
    for (;;) {
      sent.bytes += chunk.length
      yield chunk
    }
  }
  await pipeline(Readable.from(endless()), response.writeHead(200, { 'content-type': type })).catch(() => undefined)
}

const sent = { bytes: 0 }
const moved = (response: ServerResponse, location: string) => void response.writeHead(302, { location }).end()
const ways: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  '/a/page': response => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page),
  '/moved': response => moved(response, '/plain'),
  '/plain': response => response.end('plain €'),
  '/latin': response => response.setHeader('content-type', 'text/html; charset=iso-8859-1').end(Buffer.from([0xe9])),
  '/private': response => moved(response, 'http://10.0.0.1/admin?key=1'),
  '/inside': response => moved(response, 'http://127.0.0.1:3128/v1/models'),
  '/round': response => moved(response, '/round'),
  '/picture': response => sendForEver(response, 'image/png', 'P', sent),
  '/bytes': response => response.end(Buffer.from([1, 0, 2])),
  '/missing': response => response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page'),
  '/endless': response => sendForEver(response, 'text/html', '<p>word</p>', sent),
  '/text': response => sendForEver(response, 'text/plain', '€', sent),
  '/silent': () => undefined,
  '/slow': response => response.writeHead(200, { 'content-type': 'text/plain' }).write('the first part'),
}

const pages = createServer(({ url = '' }, response) => void ways[url]?.(response)).listen(0, '127.0.0.1')
await once(pages, 'listening')
stack.defer(() => void pages.close().closeAllConnections())
const { port } = pages.address() as AddressInfo

/** Stands in for the sandbox's proxy, in its words: it reaches `docs.example` alone. */
const proxy = createServer((_, response) => void response.writeHead(400).end()).listen(0, '127.0.0.1')
proxy.on('connect', ({ url = '' }, client) => {
  client.on('error', () => client.destroy())
  if (url === 'docs.example:80') {
    const upstream = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'))
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
    return
  }
  const body = `refused by the sandbox's proxy: ${url} is not public\n`
  client.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
})
await once(proxy, 'listening')
stack.defer(() => void proxy.close().closeAllConnections())
const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

test('pages are read as text through the proxy, whose refusals are told, and no more than a part of a page is held', async () => {
  const env = { NODE_USE_ENV_PROXY: '1', http_proxy: proxyUrl, https_proxy: proxyUrl, NO_PROXY: '127.0.0.1' }
  engine = await openEngine({ env })
  const rows: readonly (readonly [path: string, outcome: string, text: unknown])[] = [
    ['/a/page', 'completed', pageText],
    ['/moved', 'completed', 'plain €\n[this is http://docs.example/plain]'],
    ['/latin', 'completed', 'é'],
    [
      '/private',
      'failed',
      "http://10.0.0.1/admin?key=1 cannot be read: refused by the sandbox's proxy: 10.0.0.1:80 is not public",
    ],
    ['/inside', 'failed', expect.stringContaining('a port of this sandbox; it was not followed')],
    ['/round', 'failed', 'http://docs.example/round leads from page to page without an end.'],
    ['/picture', 'completed', '[not shown: image/png is not text; save it with curl in bash]'],
    ['/bytes', 'completed', '[not shown: what it holds is not text; save it with curl in bash]'],
    ['/missing', 'failed', 'http://docs.example/missing answered 404.\nno such page'],
    ['/endless', 'completed', expect.stringMatching(/^word\n\nword\n[\s\S]*\n\[cut here: the page goes on; [^\n]*$/)],
    [
      '/text',
      'completed',
      `${'€'.repeat(21_845)}\n[cut here: the page goes on; save it with curl in bash to read the rest]`,
    ],
  ]
  const urls = [
    ...rows.map(([path]) => `http://docs.example${path}`),
    'https://forbidden.example/',
    'file:///etc/passwd',
  ]
  const calling = urls.map(url => call('fetch', { url }))
  engine.gateway.next(calling[0] ?? {}, ...calling.slice(1), { text: 'done' })
  const { updates } = await engine.prompt('read')
  const calls = callsOf(updates)
  expect(calls).toEqual([
    ...rows.map(([, outcome, text]) => ({ call: `fetch ${outcome}`, text })),
    {
      call: 'fetch failed',
      text: "https://forbidden.example/ cannot be read: refused by the sandbox's proxy: forbidden.example:443 is not public",
    },
    { call: 'fetch failed', text: 'file:///etc/passwd is no URL of http or https.' },
  ])
  for (const { text } of calls) expect(Buffer.byteLength(text)).toBeLessThan(65 * 1024)
  expect(sent.bytes).toBeLessThan(64 * 1024 ** 2)
  const [first] = updates.filter(update => update.sessionUpdate === 'tool_call')
  expect(first).toMatchObject({ title: 'fetch http://docs.example/a/page', kind: 'fetch' })
})

test('a page that hangs ends at the bound, and what came until then is shown', async () => {
  const read = (path: string) =>
    fetchPage(2000).execute(
      'call',
      { url: `http://127.0.0.1:${port}${path}` },
      undefined,
      undefined,
      undefined as never,
    )
  const [silent, slow] = await Promise.allSettled([read('/silent'), read('/slow')])
  expect(silent).toMatchObject({ reason: { message: expect.stringContaining('/silent did not answer in time.') } })
  const text = 'the first part\n[cut here: the rest did not come within 2 seconds]'
  expect(slow).toMatchObject({ value: { content: [{ text }] } })
})

test('the web is searched by the worker, and only if it has a provider', async () => {
  engine = await openEngine()
  engine.gateway.next({ text: 'done' })
  await engine.prompt('find')
  expect(toolsOf(engine.gateway.requests[0])).not.toContain('web_search')
  await engine.restart()
  const results = [
    { title: 'Tills', url: 'https://till.example/', text: 'All of them.' },
    { url: 'https://b.example/' },
  ]
  engine.gateway.next(
    call('web_search', { query: 'tills' }),
    (_, response) => void response.end(JSON.stringify({ answer: 'There are some.', results })),
    call('web_search', { query: 'more' }),
    (_, response) => void response.writeHead(502).end('the search provider answered 429'),
    { text: 'done' },
  )
  const { updates } = await engine.prompt('find', { search: true })
  const text = 'There are some.\n\nTills\nhttps://till.example/\nAll of them.\n\nhttps://b.example/'
  expect(callsOf(updates)).toEqual([
    { call: 'web_search completed', text },
    { call: 'web_search failed', text: 'The search failed: the search provider answered 429' },
  ])
  expect(engine.gateway.requests[2]).toMatchObject({ path: '/_berth/search', body: { query: 'tills' } })
})
