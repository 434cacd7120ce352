import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import {
  type ClientHttp2Stream,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { Server } from 'node:net'
import type { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { authorities, EdgeStage, secret } from '../../testing/edge-clients.ts'

const { placeholder, value } = secret
const host = 'api.example.com'
const bearer = ['Authorization', `Bearer ${placeholder}`]
let stage: EdgeStage

beforeEach(async () => {
  stage = await EdgeStage.open()
})
afterEach(() => stage[Symbol.asyncDispose]())

/** A host that speaks HTTP/2 alone, by streams. */
async function streams(listener: Parameters<Http2SecureServer['on']>[1]): Promise<void> {
  const leaf = await authorities.hosts.leafFor(host)
  const server = createSecureServer({ SNICallback: (_, done) => done(null, leaf) })
  server.on('stream', listener as never)
  await stage.listen(host, server as unknown as Server)
}

async function answerOf(
  stream: ClientHttp2Stream,
): Promise<{ readonly headers: IncomingHttpHeaders; readonly body: string }> {
  const body = text(stream)
  // Whoever awaits the response sees the same error.
  body.catch(() => undefined)
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  return { headers, body: await body }
}

describe('HTTP/2', () => {
  it('is spoken if both sides speak it, with a secret on each stream', async () => {
    await stage.host(
      host,
      async (incoming, response) => {
        response.setHeader('x-echo', incoming.headers.authorization ?? 'none')
        response.end(`${incoming.httpVersion} ${await text(incoming)}`)
      },
      { http2: true },
    )
    await stage.serve([secret])
    const session = await stage.http2(host)
    const all = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const stream = session.request({
          ':path': `/${index}`,
          ':method': 'POST',
          authorization: `Bearer ${placeholder}`,
        })
        stream.end(`body ${index}`)
        return await answerOf(stream)
      }),
    )
    for (const [index, { body, headers }] of all.entries()) {
      expect([headers[':status'], body, headers['x-echo']]).toEqual([200, `2.0 body ${index}`, `Bearer ${placeholder}`])
    }
    expect(stage.told.used).toHaveLength(20)
    expect(stage.dialled).toHaveLength(1)
  })

  it('gives way to HTTP/1.1 if one side does not speak it', async () => {
    await stage.host(host, (incoming, response) => response.end(incoming.httpVersion), { http2: true })
    await stage.host('old.example.com', (incoming, response) => response.end(incoming.httpVersion))
    await stage.serve([{ ...secret, hosts: [host, 'old.example.com'] }])
    expect((await stage.ask(host, '/')).body).toBe('1.1')
    const client = await stage.secure('old.example.com', { protocols: ['h2', 'http/1.1'] })
    expect(client.alpnProtocol).toBe('http/1.1')
    const silent = await stage.secure(host, { protocols: [] })
    expect((await stage.ask(host, '/', {}, silent)).body).toBe('1.1')
  })

  it('refuses a placeholder elsewhere on its stream alone', async () => {
    await stage.host(host, (_, response) => response.end('ok'), { http2: true })
    await stage.serve([secret])
    const session = await stage.http2(host)
    for (const headers of [{ ':path': `/?x=${placeholder}` }, { ':path': '/', 'x-key': placeholder }]) {
      const refused = await answerOf(session.request(headers))
      expect([refused.headers[':status'], JSON.parse(refused.body).error.code]).toEqual([403, 'secret_not_for_host'])
    }
    const other = await answerOf(session.request({ ':path': '/', ':authority': 'evil.example' }))
    expect(other.headers[':status']).toBe(421)
    expect((await answerOf(session.request({ ':path': '/' }))).body).toBe('ok')
  })

  it('carries trailers both ways, and the end of a stream that breaks', async () => {
    let heard: IncomingHttpHeaders = {}
    await streams((stream, headers) => {
      stream.on('error', () => undefined)
      const isBroken = headers[':path'] === '/broken'
      stream.on('trailers', (trailers: IncomingHttpHeaders) => {
        heard = trailers
      })
      // Node ends a stream that it resets, unless the stream waits for trailers.
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      if (isBroken) return void setImmediate(() => stream.close(2))
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-echo': value }))
      stream.pipe(stream)
    })
    await stage.serve([secret])
    const session = await stage.http2(host)
    const stream = session.request({ ':path': '/', ':method': 'POST', te: 'trailers' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
    const trailers = once(stream, 'trailers') as Promise<[IncomingHttpHeaders]>
    stream.end('message')
    expect((await answerOf(stream)).body).toBe('message')
    expect((await trailers)[0]).toMatchObject({ 'grpc-status': '0', 'x-echo': placeholder })
    expect(heard).toMatchObject({ 'x-sum': '7' })
    const broken = session.request({ ':path': '/broken' })
    await expect(answerOf(broken)).rejects.toThrow()
    expect(broken.rstCode).toBe(2)
  })

  it('takes values out of every header that comes back: early ones, cookies and trailers', async () => {
    await streams(stream => {
      stream.additionalHeaders({ ':status': 103, link: `</${value}>; rel=preload` })
      const cookies = [`a=${value}; Path=/`, `b=${encodeURIComponent(value)}`, Buffer.from(value).toString('base64')]
      stream.respond({ ':status': 200, 'set-cookie': cookies, [`x-${value}`]: '1' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': `of ${value}` }))
      stream.end('body')
    })
    await stage.serve([secret])
    const stream = (await stage.http2(host)).request({ ':path': '/', authorization: `Bearer ${placeholder}` })
    const came: unknown[] = []
    for (const event of ['headers', 'trailers']) stream.on(event, (_, __, raw) => void came.push(raw))
    const [, , raw] = await once(stream, 'response')
    expect(await text(stream)).toBe('body')
    const all = [...came, raw].flat().map(String)
    expect(all.filter(part => part.includes(placeholder))).toEqual([
      ...[`</${placeholder}>; rel=preload`, `of ${placeholder}`],
      ...[`a=${placeholder}; Path=/`, `b=${placeholder}`, placeholder, placeholder],
    ])
    for (const form of [value, Buffer.from(value).toString('base64')]) expect(all.join('\n')).not.toContain(form)
  })

  it.each<[string, OutgoingHttpHeaders, number]>([
    ['the method', { ':method': `X${placeholder}` }, 403],
    ['the authority', { ':authority': `${placeholder}.${host}` }, 421],
    ['a cookie', { cookie: `session=${placeholder}` }, 403],
    ['one of two cookies', { cookie: ['a=1', `session=${placeholder}`] as unknown as string }, 403],
    ['a header and a cookie', { authorization: `Bearer ${placeholder}`, cookie: `a=${placeholder}` }, 403],
  ])('puts nothing in for a placeholder in %s', async (_, headers, status) => {
    let requests = 0
    await streams(stream => {
      requests += 1
      stream.respond({ ':status': 200 }, { endStream: true })
    })
    await stage.serve([secret])
    const refused = await answerOf((await stage.http2(host)).request({ ':path': '/', ...headers }))
    expect([refused.headers[':status'], requests, stage.told.used]).toEqual([status, 0, []])
  })

  it('carries a placeholder in the scheme nowhere, and in trailers as it is', async () => {
    const seen: unknown[] = []
    await streams((stream, headers) => {
      seen.push(headers)
      stream.on('trailers', (trailers: IncomingHttpHeaders) => void seen.push(trailers))
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    await stage.serve([secret])
    const lines = { ':path': '/', ':method': 'POST', ':scheme': placeholder }
    const stream = (await stage.http2(host)).request(lines, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': placeholder }))
    stream.end('body')
    await answerOf(stream)
    await until('the trailers', () => seen.length === 2)
    expect(seen).toMatchObject([{ ':scheme': 'https' }, { 'x-sum': placeholder }])
    expect(JSON.stringify(seen)).not.toContain(value)
  })

  it('lets a client that leaves a stream leave it at the host', async () => {
    let left = false
    await streams(stream => {
      stream.on('error', () => undefined).on('close', () => (left = true))
      stream.respond({ ':status': 200 })
      stream.write('first')
    })
    await stage.serve([secret])
    const stream = (await stage.http2(host)).request({ ':path': '/' })
    await once(stream, 'data')
    stream.close(8)
    await until('the host hears of it', () => left)
  })
})

describe('HTTP/1.1', () => {
  it('streams both ways', async () => {
    await stage.host(host, (incoming, response) => void incoming.pipe(response))
    await stage.serve([secret])
    const socket = await stage.secure(host)
    const outgoing = request({
      createConnection: () => socket,
      method: 'POST',
      headers: ['Host', host, 'Transfer-Encoding', 'chunked', ...bearer],
    })
    outgoing.write('first')
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(String((await once(response, 'data'))[0])).toBe('first')
    outgoing.end('last')
    expect(await text(response)).toBe('last')
  })

  it.each([true, false])(
    'carries bodies unchanged, in parts of any size and with a length or none (%s)',
    async hasLength => {
      // Parts that share a record of TLS, fill one, or need several.
      const sizes = [1, 4095, 5000, 16_384, 16_385, 300_000]
      const parts = Array.from({ length: 60 }, (_, at) => randomBytes(sizes[at % sizes.length] ?? 1).toString('latin1'))
      const whole = parts.join('')
      await stage.host(host, async (incoming, response) => {
        incoming.setEncoding('latin1')
        const isSame = (await text(incoming)) === whole
        if (hasLength) response.setHeader('Content-Length', whole.length)
        response.setHeader('x-same', String(isSame))
        for (const part of parts) response.write(part, 'latin1')
        response.end()
      })
      await stage.serve([secret])
      const socket = await stage.secure(host)
      const length = hasLength ? ['Content-Length', String(whole.length)] : ['Transfer-Encoding', 'chunked']
      const outgoing = request({ createConnection: () => socket, method: 'POST', headers: ['Host', host, ...length] })
      for (const part of parts) outgoing.write(part, 'latin1')
      outgoing.end()
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
      response.setEncoding('latin1')
      expect([response.headers['x-same'], (await text(response)) === whole]).toEqual(['true', true])
    },
  )

  it('carries trailers both ways', async () => {
    let heard: string[] = []
    await stage.host(host, async (incoming, response) => {
      await text(incoming)
      heard = incoming.rawTrailers
      response.writeHead(200, { Trailer: 'X-Sum' })
      response.addTrailers({ 'X-Sum': value })
      response.end('body')
    })
    await stage.serve([secret])
    const socket = await stage.secure(host)
    const outgoing = request({
      createConnection: () => socket,
      method: 'POST',
      headers: ['Host', host, 'Transfer-Encoding', 'chunked'],
    })
    outgoing.addTrailers([['X-Mine', '7']])
    outgoing.end('x')
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    await text(response)
    expect(response.trailers).toEqual({ 'x-sum': placeholder })
    expect(heard).toEqual(['X-Mine', '7'])
  })

  it.each([
    ['goes on', true, 'a body'],
    ['is refused', false, 'too large'],
  ])('leaves the expectation of a client to its host, which %s', async (_, goesOn, expected) => {
    const leaf = await authorities.hosts.leafFor(host)
    const server = createHttps({ SNICallback: (__, done) => done(null, leaf) })
    server.on('checkContinue', (incoming, response) => {
      if (!goesOn) return response.writeHead(413).end('too large')
      response.writeContinue()
      incoming.pipe(response)
    })
    await stage.listen(host, server)
    await stage.serve([secret])
    const socket = await stage.secure(host)
    const outgoing = request({
      createConnection: () => socket,
      method: 'PUT',
      headers: ['Host', host, 'Expect', '100-continue', 'Content-Length', '6'],
    })
    outgoing.on('error', () => undefined)
    outgoing.once('continue', () => outgoing.end('a body'))
    outgoing.flushHeaders()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([goesOn ? 200 : 413, expected])
  })

  it('breaks, instead of ending, when the host breaks midway', async () => {
    await stage.host(host, (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('part')
      setImmediate(() => response.destroy())
    })
    await stage.serve([secret])
    await expect(stage.ask(host, '/')).rejects.toThrow()
  })

  it('closes the request at the host when the client leaves', async () => {
    let left = false
    await stage.host(host, (incoming, response) => {
      response.write('first')
      incoming.socket.on('close', () => (left = true))
    })
    await stage.serve([secret])
    const socket = await stage.secure(host)
    const outgoing = request({ createConnection: () => socket, headers: ['Host', host] }).end()
    await once(outgoing, 'response')
    outgoing.destroy()
    await until('the host hears of it', () => left)
  })
})

describe('a WebSocket', () => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ=='
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  const lines = [
    'Host',
    host,
    'Connection',
    'Upgrade',
    'Upgrade',
    'websocket',
    'Sec-WebSocket-Key',
    key,
    'Sec-WebSocket-Version',
    '13',
  ]

  it('opens with the secret of its first request, and carries bytes both ways', async () => {
    const leaf = await authorities.hosts.leafFor(host)
    const server = createHttps({ SNICallback: (_, done) => done(null, leaf) })
    server.on('upgrade', (incoming, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n`,
      )
      socket.write(`X-Saw: ${incoming.headers.authorization === `Bearer ${value}`}\r\n\r\nhello `)
      socket.pipe(socket)
    })
    await stage.listen(host, server)
    await stage.serve([secret])
    const outgoing = request({ createConnection: await connecting(), headers: [...lines, ...bearer] }).end()
    const [response, socket, head] = (await once(outgoing, 'upgrade')) as [IncomingMessage, PassThrough, Buffer]
    expect([response.headers['sec-websocket-accept'], response.headers['x-saw']]).toEqual([accept, 'true'])
    let got = head.toString()
    socket.on('data', (part: Buffer) => (got += part.toString()))
    socket.write('frames')
    await until('echoed', () => got === 'hello frames')
    socket.end()
    await once(socket, 'close')
  })

  it('that the host refuses is answered', async () => {
    await stage.host(host, (_, response) => response.writeHead(426).end('no'))
    await stage.serve([secret])
    const outgoing = request({ createConnection: await connecting(), headers: lines }).end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([426, 'no'])
  })

  const connecting = async () => {
    const socket = await stage.secure(host)
    return () => socket
  }
})
