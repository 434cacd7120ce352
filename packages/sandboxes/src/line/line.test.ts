import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@berth/testing/until.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { Line, type LineOptions } from './line.ts'
import { FarError, HostAwayError } from './line-error.ts'
import { type CallHandlers, type ServedLine, serveLine } from './serve-line.ts'
import { type LineBounds, STREAM_WINDOW } from './session.ts'
import { dialLine, LineRefused, PROTOCOL, refuseUpgrade, takeUpgrade } from './upgrade.ts'

class OwnError extends Error {
  override readonly name = 'OwnError'
}

const clean: (() => unknown)[] = []
afterEach(async () => {
  for (const one of clean.splice(0).toReversed()) await one()
})

/** A service that takes every host. */
async function listening(take: (request: IncomingMessage, socket: Duplex, head: Buffer) => void): Promise<URL> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', take)
  await once(server, 'listening')
  clean.push(() => new Promise(resolve => server.close(resolve)))
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

interface Both {
  readonly line: Line
  readonly served: ServedLine
  /** The host's socket. */
  readonly socket: Duplex
}

/** A line over a real socket that the host dialled. */
async function connected(
  handlers: CallHandlers,
  options: Partial<LineOptions> = {},
  bounds: Partial<LineBounds> = {},
): Promise<Both> {
  const taken = Promise.withResolvers<Line>()
  const url = await listening((_, socket, head) => {
    takeUpgrade(socket, head, { 'Berth-Epoch': '7' })
    taken.resolve(new Line(socket, { errors: { OwnError }, bounds, ...options }))
  })
  const { socket, headers } = await dialLine(url, { Authorization: 'Bearer one' }, AbortSignal.timeout(5000))
  expect(headers['berth-epoch']).toBe('7')
  const served = serveLine(socket, handlers, bounds)
  const line = await taken.promise
  clean.push(
    () => served[Symbol.asyncDispose](),
    () => line[Symbol.asyncDispose](),
  )
  return { line, served, socket }
}

const echo: CallHandlers = {
  say: async ({ params }) => ({ heard: params }),
  bytes: async ({ stream }) => ({ bytes: (await buffer(stream)).length }),
  echo: async ({ stream, answer }) => void stream.pipe(answer('go')),
  own: () => Promise.reject(new OwnError('mine')),
  type: () => Promise.reject(new TypeError('not this')),
  odd: () => Promise.reject(Object.assign(new Error('odd'), { name: 'Constructor' })),
}

describe('a line', () => {
  it('carries values, and bytes both ways', async () => {
    const { line } = await connected(echo)
    expect(await line.ask('say', { a: [1, 'ä'] })).toEqual({ heard: { a: [1, 'ä'] } })
    const large = Buffer.alloc(9 * 1024 ** 2, 7)
    expect(await line.ask('bytes', null, { body: async stream => void stream.end(large) })).toEqual({
      bytes: large.length,
    })
    const { value, stream } = await line.open('echo', null)
    expect(value).toBe('go')
    stream.end('there and back')
    expect(await text(stream)).toBe('there and back')
    const many = Array.from({ length: 200 }, (_, n) => line.ask('say', n))
    expect((await Promise.all(many)).length).toBe(200)
  })

  it('carries errors by their names, and the rest as those of the other side', async () => {
    const { line } = await connected(echo)
    await expect(line.ask('own', null)).rejects.toThrow(new OwnError('mine'))
    await expect(line.ask('own', null)).rejects.toBeInstanceOf(OwnError)
    await expect(line.ask('type', null)).rejects.toBeInstanceOf(TypeError)
    await expect(line.ask('odd', null)).rejects.toBeInstanceOf(FarError)
    await expect(line.ask('no-such-call', null)).rejects.toThrow(/no such call/)
    await expect(line.ask('constructor', null)).rejects.toThrow(/no such call/)
  })

  it('tells the host that a caller has left, who gets the own reason', async () => {
    const left = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const { line } = await connected({
      async wait({ signal }) {
        signal.addEventListener('abort', () => left.resolve())
        begun.resolve()
        await new Promise(() => undefined)
      },
    })
    const controller = new AbortController()
    const reason = new Error('enough')
    const answer = line.ask('wait', null, { signal: controller.signal })
    await begun.promise
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    await left.promise
    await expect(line.ask('wait', null, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  it('holds up no other stream with one that nobody reads', async () => {
    const { line } = await connected({
      ...echo,
      async flood({ answer }) {
        const stream = answer(null)
        const part = Buffer.alloc(64 * 1024)
        const more = () => {
          while (stream.write(part)) {
            // Until the window is full.
          }
        }
        stream.on('drain', more)
        more()
      },
    })
    const floods = await Promise.all(Array.from({ length: 12 }, () => line.open('flood', null)))
    // bound: more would come in this time than fits
    await sleep(100)
    expect(await line.ask('say', 'past them')).toEqual({ heard: 'past them' })
    for (const { stream } of floods) expect(stream.readableLength).toBeLessThanOrEqual(STREAM_WINDOW)
  })

  it('gives the host streams for calls of its own, and more as it uses them', async () => {
    const { served } = await connected(echo, {
      answer: (message, stream) => void stream.end(`${JSON.stringify(message)} heard`),
    })
    const calls = Array.from({ length: 100 }, async (_, n) => {
      const stream = await served.callBack({ n }, AbortSignal.timeout(5000))
      stream.end()
      return await text(stream)
    })
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 100 }, (_, n) => `{"n":${n}} heard`))
  })

  it('fails all calls when it is cut, and those to come', async () => {
    const begun = Promise.withResolvers<void>()
    const { line, served, socket } = await connected({
      async wait() {
        begun.resolve()
        await new Promise(() => undefined)
      },
      ...echo,
    })
    const { stream } = await line.open('echo', null)
    const waiting = line.ask('wait', null)
    await begun.promise
    const broken = expect(waiting).rejects.toBeInstanceOf(HostAwayError)
    const closed = once(stream, 'close')
    socket.destroy()
    await Promise.all([broken, closed, line.closed, served.closed])
    expect([line.isOpen, served.isOpen]).toEqual([false, false])
    await expect(line.ask('say', 1)).rejects.toBeInstanceOf(HostAwayError)
    await expect(served.callBack(1, AbortSignal.timeout(1000))).rejects.toBeInstanceOf(HostAwayError)
  })

  it('ends after the calls under way when either side leaves', async () => {
    for (const side of ['line', 'served'] as const) {
      const answer = Promise.withResolvers<string>()
      const begun = Promise.withResolvers<void>()
      const both = await connected(
        {
          async wait() {
            begun.resolve()
            return await answer.promise
          },
          ...echo,
        },
        { answer: () => undefined },
      )
      const waiting = both.line.ask('wait', null)
      await begun.promise
      both[side].goAway()
      await until('a line that takes no more', () => !both.line.isOpen)
      await expect(both.line.ask('say', 1)).rejects.toBeInstanceOf(HostAwayError)
      answer.resolve('after all')
      expect(await waiting).toBe('after all')
      await Promise.all([both.line.closed, both.served.closed])
    }
  })

  it('notices a host that has frozen', async () => {
    const stuck = createSocketServer().listen(0, '127.0.0.1')
    await once(stuck, 'listening')
    const accepted = once(stuck, 'connection') as Promise<[Socket]>
    const mine = connect((stuck.address() as AddressInfo).port, '127.0.0.1')
    const [theirs] = await accepted
    clean.push(
      () => theirs.destroy(),
      () => stuck.close(),
    )
    // bound: nobody answers
    const line = new Line(mine, { errors: {}, bounds: { pingMs: 20, pongMs: 100 } })
    await expect(line.ask('say', 1)).rejects.toBeInstanceOf(HostAwayError)
    await line.closed
  })

  it('bounds what the other side says, and how long it takes', async () => {
    const { line } = await connected(
      {
        ...echo,
        long: async () => 'x'.repeat(2000),
        slow: () => new Promise(() => undefined),
      },
      {},
      { valueBytes: 1000, answerMs: 2_000 },
    )
    await expect(line.ask('long', null)).rejects.toThrow(/longer than 1000/)
    await expect(line.ask('say', 'x'.repeat(2000))).rejects.toThrow(/longer than 1000/)
    expect(await line.ask('say', 'still here')).toEqual({ heard: 'still here' })
    const slow = line.ask('slow', null)
    await expect(slow).rejects.toThrow(/in time/)
    await expect(slow).rejects.toBeInstanceOf(HostAwayError)
    await line.closed
  })

  it('waits for the answer to a call with bytes as long as the host takes some, or the caller has none ready', async () => {
    const first = Promise.withResolvers<void>()
    const { line } = await connected({
      async late({ stream }) {
        let bytes = 0
        for await (const part of stream) {
          bytes += (part as Buffer).length
          first.resolve()
        }
        return bytes
      },
      async stuck({ stream }) {
        await once(stream, 'readable')
        return await new Promise(() => undefined)
      },
    })
    const part = Buffer.alloc(64 * 1024, 1)
    const later = Promise.withResolvers<void>()
    const late = line.ask('late', null, {
      quietMs: 2_000,
      async body(to) {
        to.write(part)
        await later.promise
        to.end(part)
      },
    })
    // The host has taken all, and several times the bound passes in which the caller has nothing to give.
    await first.promise
    // bound: more than the two seconds, whatever the machine does
    setTimeout(later.resolve, 5_000)
    expect(await late).toBe(2 * part.length)
    const stuck = line.ask('stuck', null, {
      quietMs: 2_000,
      body: async to => void to.end(Buffer.alloc(8 * 1024 ** 2)),
    })
    await expect(stuck).rejects.toThrow(new HostAwayError('the host did not answer in time'))
    await line.closed
  })

  it('hears nothing behind the value of an answer, and little ahead of a call of the host', async () => {
    const over = Promise.withResolvers<void>()
    const heard: unknown[] = []
    const { line, served } = await connected(
      {
        ...echo,
        async endless({ answer }) {
          const stream = answer('a value')
          stream.once('close', () => over.resolve())
          const part = Buffer.alloc(64 * 1024)
          const more = () => {
            while (stream.write(part)) {
              // Until the window is full.
            }
          }
          stream.on('drain', more)
          more()
        },
      },
      { answer: message => void heard.push(message) },
    )
    expect(await line.ask('endless', null)).toBe('a value')
    await over.promise
    const long = await served.callBack('x'.repeat(5_000), AbortSignal.timeout(5_000))
    if (!long.closed) await once(long, 'close')
    expect(heard).toEqual([])
    expect(await line.ask('say', 'still here')).toEqual({ heard: 'still here' })
  })

  it('survives a host that speaks nonsense', async () => {
    for (const nonsense of [Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), Buffer.alloc(64 * 1024, 255)]) {
      const taken = Promise.withResolvers<Line>()
      const url = await listening((_, socket, head) => {
        takeUpgrade(socket, head, {})
        taken.resolve(new Line(socket, { errors: {}, answer: () => undefined }))
      })
      const { socket } = await dialLine(url, {}, AbortSignal.timeout(5000))
      socket.on('error', () => undefined)
      socket.write(nonsense)
      const line = await taken.promise
      await expect(line.ask('say', 1)).rejects.toBeInstanceOf(HostAwayError)
      await line.closed
      socket.destroy()
    }
  })

  it('says why a service does not take a host', async () => {
    const url = await listening((request, socket) => {
      expect(request.headers.upgrade).toBe(PROTOCOL)
      refuseUpgrade(socket, 401, 'no such token')
    })
    const refused = dialLine(url, {}, AbortSignal.timeout(5000))
    await expect(refused).rejects.toThrow(new LineRefused(401, 'no such token'))
    await expect(refused).rejects.toMatchObject({ status: 401 })
    await expect(dialLine(new URL('http://127.0.0.1:1'), {}, AbortSignal.timeout(5000))).rejects.toThrow(/ECONNREFUSED/)
  })
})
