import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { rawRequest, readRaw, sendRaw } from '../../src/http/testing/raw-http.ts'
import { sessionId, startTestApp } from '../../src/http/testing/test-app.ts'

const bearer = 'Authorization: Bearer good'

describe('a malformed request', () => {
  test.each([
    ['nonsense', 'NONSENSE\r\n\r\n', 400, 'malformed_request'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'request_header_fields_too_large',
    ],
    [
      'a target without end',
      `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      431,
      'request_header_fields_too_large',
    ],
    [
      'headers without end, for the gateway',
      `POST /v1/responses HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'request_header_fields_too_large',
    ],
    [
      'two lengths, for the gateway',
      rawRequest('POST', '/v1/chat/completions', ['Content-Length: 1', 'Content-Length: 2']),
      400,
      'malformed_request',
    ],
    ['no host', `GET /v1/sessions HTTP/1.1\r\nConnection: close\r\n${bearer}\r\n\r\n`, 400, 'malformed_request'],
    [
      'two lengths',
      rawRequest('PUT', '/v1/sessions', ['Content-Length: 1', 'Content-Length: 2']),
      400,
      'malformed_request',
    ],
  ])('is refused: %s', async (_, bytes, status, error) => {
    await using service = await startTestApp()
    expect(readRaw(await sendRaw(service.port, bytes))).toEqual({ status, body: { error } })
  })

  test('is refused if it does not arrive in time', async () => {
    await using service = await startTestApp()
    service.app.server.closeAllConnections()
    const socket = connect(service.port, '127.0.0.1')
    const answer = new Promise<string>(resolve => socket.once('data', data => resolve(String(data))))
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    service.app.server.once('connection', peer => service.app.server.emit('clientError', late, peer))
    expect(readRaw(await answer)).toEqual({ status: 408, body: { error: 'request_timeout' } })
    socket.destroy()
  })
})

describe('two hosts', () => {
  test.each(['/v1/sessions', '/v1/nope', '/v1/models', '/v1/openapi.json', '/healthz'])(
    'are refused: %s',
    async path => {
      await using service = await startTestApp()
      const response = await sendRaw(service.port, rawRequest('GET', path, [bearer, 'Host: another']))
      expect(readRaw(response)).toEqual({ status: 400, body: { error: 'malformed_request' } })
    },
  )
})

describe('a connection that its client asks to close', () => {
  test('closes after the answer, whatever the client sent after the request', async () => {
    await using service = await startTestApp()
    const requested = Promise.withResolvers<void>()
    service.answer('getSession', async () => {
      requested.resolve()
      // bound: the second request is there by then, or ignored later
      await sleep(20)
      return { status: 204 }
    })
    const last = rawRequest('GET', `/v1/sessions/${sessionId}`, [bearer])
    const answers = await sendRaw(service.port, last + last)
    await requested.promise
    expect(answers.match(/HTTP\/1.1 /g)).toHaveLength(1)
    expect(answers).toMatch(/^HTTP\/1.1 204 .*connection: close/is)
  })
})

describe('a client that leaves', () => {
  test('is not logged as a fault of the service', async () => {
    await using service = await startTestApp()
    const requested = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    service.answer('getSession', async ({ signal }) => {
      requested.resolve()
      const { promise: left, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      await left
      ended.resolve()
      throw new Error('gave up', { cause: signal.reason })
    })
    const socket = connect(service.port, '127.0.0.1')
    socket.write(rawRequest('GET', `/v1/sessions/${sessionId}`, [bearer]))
    await requested.promise
    socket.destroy()
    await ended.promise
    await expect.poll(() => service.log.some(line => line.includes('the client left'))).toBe(true)
    expect(service.log.filter(line => JSON.parse(line).level >= 40)).toEqual([])
  })
})

describe('a literal path of the table', () => {
  test.each(['PUT', 'PATCH', 'DELETE', 'POST'])(
    'is not taken for an id in another path: %s /v1/sessions/stream',
    async method => {
      await using service = await startTestApp()
      const response = await service.call(method, '/v1/sessions/stream', {
        ...(method !== 'DELETE' && { body: '{}', headers: { 'content-type': 'application/json' } }),
      })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
      expect(await response.json()).toEqual({ error: 'method_not_allowed', allow: ['GET'] })
    },
  )

  test('lists each method once', async () => {
    await using service = await startTestApp()
    const response = await service.call('POST', `/v1/sessions/${sessionId}`)
    expect(response.headers.get('allow')?.split(', ').toSorted()).toEqual(['DELETE', 'GET', 'PATCH', 'PUT'])
  })
})

describe('a request that fails while it arrives', () => {
  const head = (path: string) =>
    `PUT ${path} HTTP/1.1\r\nHost: a\r\n${bearer}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`

  test('gets the refusal', async () => {
    await using service = await startTestApp()
    const answer = await sendRaw(service.port, `${head(`/v1/sessions/${sessionId}`)}2\r\n{"\r\nnonsense\r\n`)
    expect(readRaw(answer)).toEqual({ status: 400, body: { error: 'malformed_request' } })
  })

  test('does not answer the previous request with its refusal', async () => {
    await using service = await startTestApp()
    service.answer('getSession', () => new Promise(() => {}))
    const first = `GET /v1/sessions/${sessionId} HTTP/1.1\r\nHost: a\r\n${bearer}\r\n\r\n`
    expect(await sendRaw(service.port, `${first}NONSENSE\r\n\r\n`)).toBe('')
  })
})

describe('unusual requests meet the same checks', () => {
  test.each(['PROPFIND', 'QUERY', 'TRACE', 'OPTIONS'])('%s', async method => {
    await using service = await startTestApp()
    const response = await sendRaw(service.port, rawRequest(method, '/v1/sessions', [bearer]))
    expect(readRaw(response)).toEqual({ status: 405, body: { error: 'method_not_allowed', allow: ['GET'] } })
  })

  test('a target with an origin is accepted', async () => {
    await using service = await startTestApp()
    const known = rawRequest('GET', 'http://elsewhere/v1/sessions?limit=7', [bearer])
    expect(await sendRaw(service.port, known)).toMatch(/^HTTP\/1.1 204 /)
    expect(service.requests[0]?.request.query).toMatchObject({ limit: 7 })
    const unknown = rawRequest('GET', 'http://elsewhere/v1/nope', [])
    expect(readRaw(await sendRaw(service.port, unknown)).status).toBe(401)
  })

  test('an unknown expectation is refused', async () => {
    await using service = await startTestApp()
    expect(await sendRaw(service.port, rawRequest('GET', '/v1/sessions', [bearer, 'Expect: x']))).toMatch(/ 204 /)
  })

  test('an encoded path does not bypass the bearer', async () => {
    await using service = await startTestApp()
    for (const target of ['/v1/%73essions', '/%76%31/sessions', '/%761/nope']) {
      expect(readRaw(await sendRaw(service.port, rawRequest('GET', target, []))).status).toBe(401)
    }
  })
})

test('a stopping server completes open requests and refuses later ones on the same connection', async () => {
  const service = await startTestApp()
  const slow = Promise.withResolvers<void>()
  service.answer('getSession', async () => {
    await slow.promise
    return { status: 204 }
  })
  const line = `GET /v1/sessions/${sessionId} HTTP/1.1\r\nHost: a\r\n${bearer}\r\n\r\n`
  const socket = connect(service.port, '127.0.0.1', () => socket.write(line))
  let received = ''
  socket.setEncoding('utf8').on('data', data => {
    received += data
  })
  const ended = new Promise(resolve => socket.once('close', resolve))
  await expect.poll(() => service.requests.length).toBe(1)
  const closed = service.app.close()
  await expect.poll(() => service.app.server.listening).toBe(false)
  const later = once(service.app.server, 'request')
  socket.write(line)
  await later
  slow.resolve()
  await ended
  await closed
  expect(received).toMatch(/^HTTP\/1.1 204 .*HTTP\/1.1 503 .*"error":"service_unavailable"/s)
})

test('a stopping server does not wait for a connection that was refused before its body arrived', async () => {
  const service = await startTestApp()
  const body = 'a'.repeat(1_048_577)
  const json = ['Content-Type: application/json', `Content-Length: ${body.length}`, bearer]
  const socket = connect(service.port, '127.0.0.1')
  socket.write([`PUT /v1/sessions/${sessionId} HTTP/1.1`, 'Host: a', ...json, '', body.slice(1)].join('\r\n'))
  const [refused] = await once(socket, 'data')
  expect(String(refused)).toMatch(/^HTTP\/1.1 413 /)
  const closing = Promise.withResolvers<void>()
  service.app.server.once('close', closing.resolve)
  const closed = service.app.close()
  await expect.poll(() => service.app.server.listening).toBe(false)
  socket.write('a')
  await closing.promise
  await closed
})
