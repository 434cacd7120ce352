import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { SandboxService } from '@berth/sandboxes/driver.ts'
import { type EgressProxy, serveEgressProxy } from '@berth/sandboxes/egress/proxy.ts'
import { createReachPolicy } from '@berth/sandboxes/egress/reach-policy.ts'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type GatewayLink, openGatewayLink } from './gateway-link.ts'

let dir: string
let proxy: EgressProxy
let url: string
let bearer: string | null
let logged: object[]
let stopping: AbortController
let link: GatewayLink
let gateway: SandboxService
const clean: (() => void)[] = []

/** Fails every lookup and dial: only the gateway may be reached. */
const network = {
  lookUp: () => Promise.reject(new Error('looked up')),
  resolve: () => Promise.reject(new Error('resolved')),
  dial: () => Promise.reject(new Error('dialled')),
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-proxy-gateway-'))
  bearer = 'svc_run_of-the-first'
  logged = []
  stopping = new AbortController()
  const route = {
    leaseId: 'one',
    get stopping() {
      return stopping.signal
    },
    get url() {
      return url
    },
    mostRequests: 3,
    bearer: () => bearer,
  }
  const log = { warn: (fields: object) => logged.push(fields) }
  link = openGatewayLink(log)
  gateway = { answer: (...requested) => link.forward(...requested, route) }
  proxy = await serveEgressProxy({ dir, name: 's', policy: createReachPolicy([]), gateway, log, network })
})
afterEach(async () => {
  await proxy[Symbol.asyncDispose]()
  link[Symbol.dispose]()
  for (const one of clean.splice(0)) one()
  await rm(dir, { recursive: true })
})

async function serveGateway(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  clean.push(() => server.close().closeAllConnections())
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Readable
  readonly agent?: Agent
}

async function begin(
  path: string,
  { method = 'GET', headers = {}, body, agent }: RequestOptions = {},
): Promise<IncomingMessage> {
  const outgoing = request({ socketPath: join(dir, 's'), path, method, headers, ...(agent && { agent }) })
  if (body instanceof Readable) body.pipe(outgoing)
  else outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  outgoing.on('error', () => undefined)
  return response
}

async function ask(path: string, options?: RequestOptions) {
  const response = await begin(path, options)
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

const errorOf = (body: string) => (JSON.parse(body) as { error: { code: string; type: string; message: string } }).error

describe('a request to the gateway', () => {
  test("arrives with method, path, query and body, and the Run's credential in place of the caller's headers", async () => {
    let seen: { method?: string; url?: string; raw: string; body: string } | undefined
    await serveGateway(async (incoming, response) => {
      const { method = '', url: path = '', rawHeaders } = incoming
      seen = { method, url: path, raw: rawHeaders.join('\n').toLowerCase(), body: await text(incoming) }
      response.writeHead(201, { 'X-Answer': 'yes', 'Content-Type': 'application/json' }).end('{}')
    })
    const headers = {
      authorization: 'Bearer svc_ai_live_of-the-agent',
      'api-key': 'of-the-agent',
      'x-api-key': 'of-the-agent',
      'x-goog-api-key': 'of-the-agent',
      cookie: 'of-the-agent=1',
      forwarded: 'for=of-the-agent',
      'x-forwarded-for': 'of-the-agent',
      'x-svc-organization': 'of-the-agent',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'anthropic-beta': 'a-beta',
    }
    const { status, headers: answered } = await ask('/v1/responses?a=b', {
      method: 'POST',
      headers,
      body: '{"model":"m"}',
    })
    expect([status, answered['x-answer']]).toEqual([201, 'yes'])
    expect(seen).toMatchObject({ method: 'POST', url: '/v1/responses?a=b', body: '{"model":"m"}' })
    expect(seen?.raw).not.toContain('of-the-agent')
    expect(seen?.raw).toContain('authorization\nbearer svc_run_of-the-first')
    expect(seen?.raw).toContain('accept\ntext/event-stream')
    expect(seen?.raw).toContain('content-type\napplication/json')
    expect(seen?.raw).toContain('anthropic-beta\na-beta')
  })

  test("may name the proxy's own address, for clients that send every URL to a proxy", async () => {
    await serveGateway((incoming, response) => response.end(incoming.url))
    expect((await ask('http://127.0.0.1:3128/v1/models?a=b')).body).toBe('/v1/models?a=b')
    expect((await ask('http://127.0.0.1:3128/metrics')).status).toBe(404)
    expect((await ask('http://127.0.0.1:3129/v1/models')).status).toBe(403)
  })

  test("is refused if its path is not the gateway's", async () => {
    let attempts = 0
    await serveGateway((_, response) => {
      attempts++
      response.end()
    })
    const paths = ['/', '/v1/sessions', '/v1/models/', '/v1/files', '//v1/models', '/V1/models', '/v1/x/../models']
    for (const path of [...paths, '/v1%2fmodels', '/metrics', '/v1/models#x']) {
      const { status, body } = await ask(path)
      expect([status, errorOf(body)], path).toMatchObject([404, { code: 'unknown_endpoint', param: null }])
    }
    expect(attempts).toBe(0)
  })

  test("may use Anthropic's and Google's paths, and is refused there in their form", async () => {
    await serveGateway((incoming, response) => response.end(incoming.url))
    const models = '/v1beta/models/provider%2Fa-model.1'
    const paths = [
      ['/v1/messages?beta=true', '/v1/messages?beta=true'],
      ['/v1/messages/count_tokens', '/v1/messages/count_tokens'],
      ['/v1beta/models/provider/a-model.1:streamGenerateContent?alt=sse', `${models}:streamGenerateContent?alt=sse`],
      [`${models}:countTokens`, `${models}:countTokens`],
      ['/v1/models/provider/a-model.1:generateContent', `${models}:generateContent`],
      ['/v1/provider/a-model.1:generateContent', `${models}:generateContent`],
    ] as const
    for (const [path, sent] of paths) expect((await ask(path, { method: 'POST', body: '{}' })).body).toBe(sent)
    const lists = [
      ['/v1/models/provider/a-model.1', '/v1/models/provider%2Fa-model.1', {}],
      ['/v1/models/provider/a-model.1', models, { 'x-goog-api-key': 'x' }],
      ['/v1/models?pageSize=5', '/v1beta/models?pageSize=5', { 'x-goog-api-key': 'x' }],
    ] as const
    for (const [path, sent, headers] of lists) expect((await ask(path, { headers })).body).toBe(sent)
    const others = ['/v1/messages/batches', `${models}:x`, '/v1beta/models/../../v1/sessions:countTokens']
    for (const path of others) expect((await ask(path)).status, path).toBe(404)
    for (const path of ['/v1/models/../sessions', '/v1beta/models/..', '/v1beta/files']) {
      expect((await ask(path)).status, path).toBe(404)
    }
    bearer = null
    const [anthropic, google] = [await ask('/v1/messages'), await ask(`${models}:generateContent`)]
    expect(JSON.parse(anthropic.body)).toMatchObject({ type: 'error', error: { type: 'authentication_error' } })
    expect(JSON.parse(google.body)).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
  })

  test('carries the credential of the active Run, and is refused without one', async () => {
    const bearers: (string | undefined)[] = []
    await serveGateway(({ headers }, response) => {
      bearers.push(headers.authorization)
      response.end()
    })
    await ask('/v1/models')
    bearer = null
    const { status, body } = await ask('/v1/models', { headers: { authorization: 'Bearer svc_run_of-the-first' } })
    expect([status, errorOf(body)]).toMatchObject([401, { code: 'invalid_or_expired_credential' }])
    expect(errorOf(body).message).toContain('No Run is active')
    bearer = 'svc_run_of-the-second'
    await ask('/v1/models')
    expect(bearers).toEqual(['Bearer svc_run_of-the-first', 'Bearer svc_run_of-the-second'])
  })

  test('streams its answer as it arrives', async () => {
    const { promise: requested, resolve: more } = Promise.withResolvers<() => void>()
    await serveGateway((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n')
      more(() => response.end('data: 2\n\n'))
    })
    const response = await begin('/v1/chat/completions', { method: 'POST', body: '{}' })
    const [first] = (await once(response, 'data')) as [Buffer]
    expect(String(first)).toBe('data: 1\n\n')
    ;(await requested)()
    expect(await text(response)).toBe('data: 2\n\n')
  })

  test('gets an answer that comes before its whole body was sent', async () => {
    await serveGateway((incoming, response) => {
      incoming.once('data', () => response.writeHead(413, { Connection: 'close' }).end('too large'))
    })
    const body = Readable.from(Array.from({ length: 256 }, () => Buffer.alloc(65_536)))
    expect(await ask('/v1/responses', { method: 'POST', body })).toMatchObject({ status: 413, body: 'too large' })
  })

  test('breaks off where the gateway does, so that a cut never looks like an end', async () => {
    await serveGateway((_, response) => {
      response.writeHead(200).write('part')
      setImmediate(() => response.destroy())
    })
    await expect(ask('/v1/models')).rejects.toThrow()
    expect(logged).toEqual([])
  })

  test('ends at the gateway when the agent leaves', async () => {
    const { promise: left, resolve } = Promise.withResolvers<void>()
    await serveGateway((incoming, response) => {
      response.write('part')
      incoming.socket.once('close', () => resolve())
    })
    const response = await begin('/v1/chat/completions', { method: 'POST', body: '{}' })
    response.destroy()
    await left
  })
})

test("the proxy leaves the platform's paths to the worker, and to nobody without one", async () => {
  await serveGateway((_, response) => response.end('gateway'))
  expect((await ask('/_berth/x')).status).toBe(404)
  const service = {
    async answer(_: IncomingMessage, outgoing: ServerResponse, target: string) {
      outgoing.end(`worker ${target}`)
    },
  }
  proxy.allow({ policy: createReachPolicy([]), gateway, service })
  expect((await ask('/_berth/x?a=b')).body).toBe('worker /_berth/x?a=b')
  expect((await ask('http://127.0.0.1:3128/_berth/x')).body).toBe('worker /_berth/x')
  expect((await ask('http://example.com/_berth/x')).status).toBe(403)
  expect((await ask('/v1/models')).body).toBe('gateway')
})

test("the proxy limits a sandbox's simultaneous requests to the gateway", async () => {
  const waiting: (() => void)[] = []
  await serveGateway((_, response) => waiting.push(() => response.end('done')))
  const first = [1, 2, 3].map(() => ask('/v1/models'))
  await until('the requests', () => waiting.length === 3)
  const { status, headers, body } = await ask('/v1/models')
  expect([status, headers['retry-after'], errorOf(body)]).toMatchObject([503, '2', { code: 'service_unavailable' }])
  waiting.shift()?.()
  await Promise.race(first)
  const next = ask('/v1/models')
  await until('the next', () => waiting.length === 3)
  for (const answer of waiting) answer()
  expect((await Promise.all([...first, next])).map(answer => answer.status)).toEqual([200, 200, 200, 200])
})

test('the proxy supports a gateway below a path', async () => {
  await serveGateway((incoming, response) => response.end(incoming.url))
  url += '/below/'
  expect((await ask('/v1/models?a=b')).body).toBe('/below/v1/models?a=b')
})

test('the proxy keeps its connections on both sides', async () => {
  const ports = new Set<number | undefined>()
  await serveGateway((incoming, response) => {
    ports.add(incoming.socket.remotePort)
    incoming.resume().on('end', () => response.end('x'))
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  clean.push(() => agent.destroy())
  for (const body of ['one', 'two', 'three']) await ask('/v1/responses', { method: 'POST', body, agent })
  expect(ports.size).toBe(1)
})

test("the proxy answers in the gateway's form while the gateway is away, and recovers", async () => {
  const server = createNetServer(socket => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = await ask('/v1/models')
  server.close()
  await once(server, 'close')
  const away = await ask('/v1/models')
  for (const { status, headers, body } of [cut, away]) {
    expect([status, headers['retry-after'], errorOf(body)]).toMatchObject([503, '2', { code: 'service_unavailable' }])
    // The operator learns the cause; the agent does not.
    expect(logged).toEqual([
      { err: expect.any(Error), leaseId: 'one' },
      { err: expect.any(Error), leaseId: 'one' },
    ])
  }
  await serveGateway((_, response) => response.end('back'))
  expect((await ask('/v1/models')).body).toBe('back')
})

test('a request gets no refusal once the process stops: its connection ends with the worker', async () => {
  await serveGateway((_, response) => response.end('answered'))
  stopping.abort()
  const sent = request({ socketPath: join(dir, 's'), path: '/v1/models' }).end()
  const ended = once(sent, 'response').then(
    () => 'answered',
    () => 'cut',
  )
  // The proxy answers in the order in which it is asked.
  expect((await ask('/nothing')).status).toBe(404)
  await proxy[Symbol.asyncDispose]()
  expect(await ended).toBe('cut')
  expect(logged).toEqual([])
})
