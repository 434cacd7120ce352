import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { text } from 'node:stream/consumers'
import { createServer as createTls, type TLSSocket } from 'node:tls'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { authorities, EdgeStage, secret } from '../../testing/edge-clients.ts'

// An error that leaves a handler of an event ends a worker. Here it fails the file.

const host = 'api.example.com'
let stage: EdgeStage

beforeEach(async () => {
  stage = await EdgeStage.open()
})
afterEach(() => stage[Symbol.asyncDispose]())

const kinds = { data: 0, headers: 1, reset: 3, settings: 4 } as const
const END_STREAM = 1
const END_HEADERS = 4
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
type Pairs = readonly (readonly [name: string, value: string])[]

interface Frame {
  readonly kind: number
  readonly stream: number
  readonly payload: Buffer
}

/** A frame of HTTP/2 (RFC 9113, 4.1): Node sends none that it would not take. */
function frame(kind: keyof typeof kinds, stream: number, payload: Buffer = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(kinds[kind], 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Headers that enter no table (RFC 7541, 6.2.2), with short names and values. */
function literal(pairs: Pairs): Buffer {
  return Buffer.concat(
    pairs.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  )
}

/** Calls with each frame that comes. */
function readFrames(socket: TLSSocket, skipped: number, hear: (frame: Frame) => void): void {
  let bytes = Buffer.alloc(0)
  let toSkip = skipped
  socket.on('data', (part: Buffer) => {
    bytes = Buffer.concat([bytes, part])
    if (toSkip > 0 && bytes.length >= toSkip) {
      bytes = bytes.subarray(toSkip)
      toSkip = 0
    }
    while (toSkip === 0 && bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const length = bytes.readUIntBE(0, 3)
      hear({ kind: bytes.readUInt8(3), stream: bytes.readUInt32BE(5), payload: bytes.subarray(9, 9 + length) })
      bytes = bytes.subarray(9 + length)
    }
  })
}

/** A host that answers each request of HTTP/2 with these headers, and nothing else. */
async function answering(pairsOf: () => Pairs): Promise<void> {
  const leaf = await authorities.hosts.leafFor(host)
  const server = createTls({ SNICallback: (_, done) => done(null, leaf), ALPNProtocols: ['h2'] }, socket => {
    socket.on('error', () => undefined)
    socket.write(frame('settings', 0))
    readFrames(socket, PREFACE.length, ({ kind, stream }) => {
      if (kind === kinds.headers) socket.write(frame('headers', stream, literal(pairsOf()), END_STREAM | END_HEADERS))
    })
  })
  await stage.listen(host, server)
}

/** Opens HTTP/2 by hand, and collects what the proxy sends. */
async function byHand(): Promise<{ readonly socket: TLSSocket; readonly frames: Frame[] }> {
  const socket = await stage.secure(host, { protocols: ['h2'] })
  const frames: Frame[] = []
  readFrames(socket, 0, one => void frames.push(one))
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame('settings', 0)]))
  return { socket, frames }
}

const request: Pairs = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
]

describe('over HTTP/2', () => {
  it.each<[string, Pairs, string]>([
    [
      'a header twice that one has once',
      [
        ['etag', '1'],
        ['etag', '2'],
      ],
      'ok',
    ],
    ['a header of the connection', [['http2-settings', 'AAA']], 'reset'],
  ])('trailers of a request with %s end no more than their stream', async (_, trailers, becomes) => {
    await stage.host(host, (incoming, response) => incoming.resume().on('end', () => response.end('ok')), {
      http2: true,
    })
    await stage.serve([secret])
    const { frames, socket } = await byHand()
    socket.write(
      Buffer.concat([
        frame('headers', 1, literal(request), END_HEADERS),
        frame('data', 1, Buffer.from('body')),
        frame('headers', 1, literal(trailers), END_STREAM | END_HEADERS),
      ]),
    )
    await until('the stream is over', () =>
      frames.some(
        ({ kind, stream, payload }) =>
          stream === 1 && (becomes === 'reset' ? kind === kinds.reset : String(payload) === becomes),
      ),
    )
    socket.write(frame('headers', 3, literal(request), END_STREAM | END_HEADERS))
    await until('the connection goes on', () =>
      frames.some(({ stream, payload }) => stream === 3 && String(payload) === 'ok'),
    )
  })

  it.each<[string, Pairs]>([
    ['a status that is none', [[':status', '999']]],
    [
      'a header of the connection',
      [
        [':status', '200'],
        ['http2-settings', 'AAA'],
      ],
    ],
  ])('an answer with %s ends no more than its stream', async (_, pairs) => {
    let answer: Pairs = pairs
    await answering(() => answer)
    await stage.serve([secret])
    const session = await stage.http2(host)
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => undefined)
    await until('the stream is over', () => stream.closed)
    answer = [[':status', '204']]
    const [headers] = await once(session.request({ ':path': '/' }), 'response')
    expect(headers[':status']).toBe(204)
  })

  it('an answer that repeats headers passes', async () => {
    const twice = ['content-type', 'location', 'etag', 'x-content-type-options']
    await answering(() => [
      [':status', '200'],
      ...twice.flatMap(
        name =>
          [
            [name, '1'],
            [name, '2'],
          ] as const,
      ),
    ])
    await stage.serve([secret])
    const { frames, socket } = await byHand()
    socket.write(frame('headers', 1, literal(request), END_STREAM | END_HEADERS))
    await until('answered', () => frames.some(({ kind, stream }) => stream === 1 && kind === kinds.headers))
    expect(frames.some(({ kind }) => kind === kinds.reset)).toBe(false)
  })

  it('a client that resets a stream without an error, and sends on, leaves it at the host', async () => {
    const streams: ServerHttp2Stream[] = []
    await stage.host(
      host,
      incoming => void streams.push((incoming as unknown as { stream: ServerHttp2Stream }).stream),
      { http2: true },
    )
    await stage.serve([secret])
    const stream = (await stage.http2(host)).request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => undefined)
    stream.write(Buffer.alloc(8 * 1024 * 1024))
    await until('the host has the request', () => streams.length > 0)
    stream.close(0)
    await until('the host hears of it', () => streams[0]?.closed)
  })

  it('has 32 streams at once, and few connections of a sandbox', async () => {
    await stage.host(host, (_, response) => response.end('ok'), { http2: true })
    await stage.serve([secret])
    const session = await stage.http2(host)
    await once(session, 'remoteSettings')
    expect(session.remoteSettings).toMatchObject({ maxConcurrentStreams: 32, initialWindowSize: 256 * 1024 })
    const protocols = ['h2', 'http/1.1']
    const more = await Promise.all(Array.from({ length: 7 }, () => stage.secure(host, { protocols })))
    expect(more.map(({ alpnProtocol }) => alpnProtocol)).toEqual(Array(7).fill('h2'))
    const further = await stage.secure(host, { protocols })
    expect(further.alpnProtocol).toBe('http/1.1')
    expect((await stage.ask(host, '/', {}, further)).body).toBe('ok')
    await expect(stage.secure(host, { protocols: ['h2'] })).rejects.toThrow()
    session.destroy()
    await until('a place is free', async () => {
      const next = await stage.secure(host, { protocols })
      next.destroy()
      return next.alpnProtocol === 'h2'
    })
  })
})

describe('over HTTP/1.1', () => {
  const requests = (...paths: string[]) => paths.map(path => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join('')

  it('a client that leaves with a request waiting for another ends nothing else', async () => {
    const seen: (string | undefined)[] = []
    let isOver = false
    await stage.host(host, incoming => {
      seen.push(incoming.url)
      incoming.socket.on('close', () => (isOver = true))
    })
    await stage.serve([secret])
    const socket = await stage.secure(host)
    socket.write(requests('/1', '/2', '/3'))
    await until('the host has the first', () => seen.length > 0)
    socket.destroy()
    await until('the host hears of it', () => isOver)
    expect(seen).toEqual(['/1'])
  })

  it('a host that leaves after an answer leaves the requests behind it refused', async () => {
    await stage.host(host, (incoming, response) => {
      response.on('finish', () => incoming.socket.destroy()).end('one')
    })
    await stage.serve([secret])
    const socket = await stage.secure(host)
    socket.write(requests('/1', '/2', '/3'))
    const answers = await text(socket)
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 502', 'HTTP/1.1 502'])
  })
})
