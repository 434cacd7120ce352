import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OpenStreams } from '../connection/open-streams.ts'
import { sessionId, startTestApp } from '../testing/test-app.ts'
import { type StreamEnd, type StreamLimits, writeEventStream } from './sse.ts'

const path = `/v1/sessions/${sessionId}/events/stream`

/** Yields no frames; ends when the signal aborts. */
async function* silence(signal: AbortSignal): AsyncGenerator<string> {
  await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
}

describe('a stream', () => {
  test('sends a comment at once, then the frames of its source', async () => {
    await using service = await startTestApp()
    const gate = Promise.withResolvers<void>()
    service.answer('streamEvents', async () => ({
      events: (async function* () {
        await gate.promise
        yield 'id: 1\ndata: {}\n\n'
      })(),
    }))
    const response = await service.call('GET', path)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ratelimit: '"svc-cloud";r=119;t=1',
    })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe(': open\n\n')
    gate.resolve()
    expect((await reader?.read())?.value).toBe('id: 1\ndata: {}\n\n')
    expect((await reader?.read())?.done).toBe(true)
  })

  test('ends its source when the client leaves', async () => {
    await using service = await startTestApp()
    const ended = Promise.withResolvers<void>()
    service.answer('streamEvents', async ({ signal }) => ({
      events: (async function* () {
        yield* silence(signal)
        ended.resolve()
      })(),
    }))
    const client = new AbortController()
    await service.call('GET', path, { signal: client.signal })
    client.abort()
    await ended.promise
  })

  test('gets a reconnection delay when the server stops', async () => {
    const service = await startTestApp()
    service.answer('streamEvents', async ({ signal }) => ({ events: silence(signal) }))
    const response = await service.call('GET', path)
    const text = response.text()
    await service.app.close()
    const retryMs = Number(/^: open\n\nretry: (\d+)\n\n$/.exec(await text)?.[1])
    expect(retryMs).toBeLessThan(30_000)
  })

  test('that begins only once the server has begun to stop gets one as well, and does not hold the stop', async () => {
    const service = await startTestApp()
    const [requested, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    service.answer('streamEvents', async ({ signal }) => {
      requested.resolve()
      await gate.promise
      return { events: silence(signal) }
    })
    const response = service.call('GET', path)
    await requested.promise
    const closed = service.app.close()
    await expect.poll(() => service.app.server.listening).toBe(false)
    gate.resolve()
    expect(await (await response).text()).toMatch(/^: open\n\nretry: \d+\n\n$/)
    await closed
  })

  test('breaks off, instead of ending, when its source fails', async () => {
    await using service = await startTestApp()
    const begun = Promise.withResolvers<void>()
    service.answer('streamEvents', async () => ({
      events: (async function* () {
        yield 'data: 1\n\n'
        await begun.promise
        throw new Error('log lost')
      })(),
    }))
    const response = await service.call('GET', path)
    begun.resolve()
    await expect(response.text()).rejects.toThrow()
    expect(service.log.join('')).toContain('log lost')
  })

  test('is refused with an ordinary response before its first frame', async () => {
    await using service = await startTestApp()
    const { refusal } = await import('@berth/platform/kit/refusal.ts')
    service.answer('streamEvents', () => Promise.reject(refusal('cloud_session_not_found')))
    const response = await service.call('GET', path)
    expect([response.status, await response.json()]).toEqual([404, { error: 'cloud_session_not_found' }])
  })
})

describe('a reader', () => {
  const limits: StreamLimits = { keepAliveMs: 10_000, patienceMs: 10_000, maxUnflushedBytes: 1_048_576 }
  // bound: for readers that it is to end, or that keep nothing waiting
  const impatient = { patienceMs: 150 }
  const frame = `data: ${'a'.repeat(65_536)}\n\n`

  async function serve(
    frames: (response: ServerResponse) => AsyncIterable<string>,
    changed: Partial<StreamLimits> = {},
  ) {
    const end = Promise.withResolvers<StreamEnd>()
    const server = createServer((_, response) => {
      const stream = { response, headers: {}, frames: frames(response), open: new OpenStreams() }
      writeEventStream({ ...stream, limits: { ...limits, ...changed } }).then(end.resolve, end.reject)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const socket: Socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    return { socket, end: end.promise }
  }

  test('that takes nothing is disconnected beyond 1 MiB', async () => {
    let unflushed = 0
    const { socket, end } = await serve(async function* (response) {
      for (;;) {
        yield frame
        unflushed = response.writableLength
      }
    }, impatient)
    socket.pause()
    expect(await end).toBe('slow')
    expect(unflushed).toBeLessThanOrEqual(limits.maxUnflushedBytes)
  })

  test('that catches up on a long log stays connected', async () => {
    const { socket, end } = await serve(async function* () {
      for (let index = 0; index < 400; index += 1) yield frame
    })
    let received = 0
    socket.on('data', data => {
      received += data.length
      socket.pause()
      // bound: a pause of the reader
      setTimeout(() => socket.resume(), 1)
    })
    expect(await end).toBe('source')
    await expect.poll(() => received).toBeGreaterThan(400 * frame.length)
  })

  test('that stalls with little unread output stays connected', async () => {
    const { socket, end } = await serve(async function* () {
      yield 'data: 1\n\n'
      // bound: longer than the patience that the test gives
      await sleep(600)
    }, impatient)
    socket.pause()
    expect(await end).toBe('source')
  })

  test('that does not read the end of its stream is disconnected', async () => {
    let response: ServerResponse | undefined
    const { socket, end } = await serve(async function* (written) {
      response = written
      while (written.writableLength < 500_000) yield frame
    }, impatient)
    socket.pause()
    expect(await end).toBe('source')
    await expect.poll(() => response?.closed).toBe(true)
  })

  test('gets comments while its source is silent', async () => {
    const heard = Promise.withResolvers<void>()
    const { socket } = await serve(
      async function* () {
        await heard.promise
        yield 'data: 1\n\n'
      },
      // bound: how often a comment comes
      { keepAliveMs: 50 },
    )
    let text = ''
    socket.setEncoding('utf8').on('data', data => {
      text += data
      if (text.split(': keep-alive\n\n').length > 4) heard.resolve()
    })
    await expect.poll(() => text).toContain('data: 1')
  })
})
