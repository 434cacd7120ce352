import { expect, test } from 'vitest'
import { BerthError, type FollowOptions } from '../src/index.ts'
import { answer, next, PulledStream, sequences, start, until } from './follow-setup.ts'
import { ManualClock } from './manual-clock.ts'
import { type ApiScript, eventAt, frame, openStream, sendJson } from './scripted-api.ts'

test('the watchdog finds a half-open connection', async () => {
  const clock = new ManualClock()
  const faults: unknown[] = []
  let send = (_: string): unknown => undefined
  const stream: ApiScript['stream'] = ({ response }) => {
    openStream(response)
    send = text => response.write(text)
  }
  await using it = await start({ stream }, clock)
  it.api.append(1)
  const events = it.follow({ watchdogMs: 40_000, onInterruption: ({ fault }) => faults.push(fault) })
  expect(await next(events)).toBe(1)
  const second = next(events)
  it.api.append(1)
  send(frame(eventAt(2)))
  expect(await second).toBe(2)
  // Every byte of the stream has been read; only silence follows.
  const third = next(events)
  await clock.sleeperUntil(40_000)
  it.api.append(1)
  clock.advance(40_000)
  // The pause before the second subscription is 500 ms, plus the random part after a fault.
  await clock.sleeperUntil(40_750)
  clock.advance(750)
  expect(await third).toBe(3)
  expect(it.api.streams).toBe(2)
  expect(faults).toMatchObject([{ name: 'BerthConnectionError', message: 'no byte in 40000 ms' }])
  await events.return()
})

test('comments keep a connection alive', async () => {
  const clock = new ManualClock()
  const feed = new PulledStream()
  const events = feed.follow(clock, { verifyMs: 1_000_000 })
  const first = next(events)
  await feed.send(frame(eventAt(1)))
  expect(await first).toBe(1)
  const second = next(events)
  await feed.requested()
  for (let at = 30_000; at <= 150_000; at += 30_000) {
    clock.advance(30_000)
    await feed.send(': alive\n\n')
    await feed.requested()
  }
  await feed.send(frame(eventAt(2)))
  expect(await second).toBe(2)
  expect(feed.opened).toBe(1)
  await events.return()
})

test('the chunks of a stream set no timer each', async () => {
  const clock = new ManualClock()
  const feed = new PulledStream()
  let timers = 0
  const sleep: typeof clock.sleep = (ms, signal) => {
    timers += 1
    return clock.sleep(ms, signal)
  }
  const events = feed.follow({ now: clock.now, random: clock.random, sleep }, {})
  for (let sequence = 1; sequence <= 50; sequence += 1) {
    const following = next(events)
    await feed.send(frame(eventAt(sequence)))
    expect(await following).toBe(sequence)
    clock.advance(10)
  }
  // One for the head of the stream, one for that of the page, and one for the silence.
  expect(timers).toBe(3)
  await events.return()
})

test('a subscription without a response is given up and repeated', async () => {
  const clock = new ManualClock()
  const requested = Promise.withResolvers<void>()
  await using it = await start(
    { stream: ({ index, response }) => (index > 0 ? openStream(response) : requested.resolve()) },
    clock,
  )
  it.api.append(1)
  const events = it.follow({ watchdogMs: 40_000 })
  const first = next(events)
  await requested.promise
  clock.advance(40_000)
  await clock.sleeperUntil(40_750)
  clock.advance(750)
  expect(await first).toBe(1)
  await events.return()
})

test('after the server ends the stream, the follower waits the time it asks for', async () => {
  const faults: unknown[] = []
  await using it = await start({
    stream: ({ index, response }) => {
      openStream(response)
      it.api.append(1)
      response.end(`${frame(eventAt(index + 1))}retry: 730\n\n`)
    },
  })
  const onInterruption: FollowOptions['onInterruption'] = ({ fault }) => faults.push(fault)
  expect(await sequences(it.follow({ until: until(3), onInterruption }))).toEqual([1, 2, 3])
  expect(it.waits).toEqual([730, 730])
  expect(faults).toEqual([null, null])
})

test('useless streams are spaced ever wider, even if they end properly', async () => {
  const script: ApiScript = {
    stream: ({ index, response }) => {
      openStream(response)
      if (index === 6) it.api.append(1)
      response.end(': bye\n\nretry: 0\n\n')
    },
  }
  await using it = await start(script, undefined, [])
  expect(await sequences(it.follow({ until: until(1) }))).toEqual([1])
  expect(it.waits).toEqual([250, 500, 1000, 2000, 4000, 8000])
})

test('a follower that a person watches is never far apart from the next attempt', async () => {
  const script: ApiScript = {
    stream: ({ index, response }) => {
      if (index < 5) return response.socket?.destroy()
      openStream(response)
      it.api.append(1)
    },
  }
  await using it = await start(script)
  expect(await sequences(it.follow({ until: until(1), maxDelayMs: 2_400 }))).toEqual([1])
  expect(it.waits).toEqual([750, 1000, 1500, 1700, 1700])
})

test('after a 503 or 429 to a subscription, the follower waits as long as asked', async () => {
  await using it = await start({
    stream: ({ index, response }) => {
      const refused = { 0: 503, 1: 429 }[index]
      if (refused === undefined) return openStream(response)
      return sendJson(response, refused, { error: 'event_stream_unavailable' }, { 'retry-after': '9' })
    },
  })
  it.api.append(1)
  expect(await sequences(it.follow({ until: until(1) }))).toEqual([1])
  expect(it.waits).toEqual([9250, 9500])
})

test('responses of something else than the service are retried', async () => {
  await using it = await start({
    stream: ({ index, response }) => (index === 0 ? response.end('<html>sign in</html>') : openStream(response)),
    page: (response, index) => index === 0 && answer(response, {}),
  })
  it.api.append(1)
  expect(await sequences(it.follow({ until: until(1) }))).toEqual([1])
  expect(it.api.streams).toBe(3)
})

test.each([400, 401, 403, 404])('a %i ends the follower', async status => {
  await using it = await start({ stream: ({ response }) => sendJson(response, status, { error: 'no' }) })
  const failure = await sequences(it.follow()).catch(error => error)
  expect(failure).toBeInstanceOf(BerthError)
  expect(failure).toMatchObject({ status, code: 'no' })
  expect(it.api.streams).toBe(1)
})

test('a refusal of a reconnection ends the follower after the earlier Events', async () => {
  await using it = await start({
    stream: ({ index, response }) => {
      if (index > 0) return sendJson(response, 401, { error: 'invalid_or_expired_credential' })
      openStream(response)
      return response.end()
    },
  })
  it.api.append(2)
  const seen: number[] = []
  const following = (async () => {
    for await (const event of it.follow()) seen.push(event.sequence)
  })()
  await expect(following).rejects.toMatchObject({ status: 401 })
  expect(seen).toEqual([1, 2])
})

test('an error of the caller’s own code is thrown, not retried', async () => {
  const mine = new Error('mine')
  await using it = await start({ stream: ({ response }) => response.socket?.destroy() })
  const raise = () => {
    throw mine
  }
  await expect(sequences(it.follow({ onInterruption: raise }))).rejects.toBe(mine)
  await using other = await start({})
  other.api.append(1)
  await expect(sequences(other.follow({ until: raise }))).rejects.toBe(mine)
})

test('an abort ends the follower at once while it subscribes, pages, listens or waits to reconnect', async () => {
  const clock = new ManualClock()
  const scripts: ((abort: () => void) => ApiScript)[] = [
    abort => ({ stream: abort }),
    abort => ({
      page: () => {
        abort()
        return true
      },
    }),
    () => ({ stream: ({ response }) => response.socket?.destroy() }),
  ]
  for (const script of scripts) {
    const controller = new AbortController()
    const abort = () => controller.abort()
    await using it = await start(script(abort), clock)
    expect(await sequences(it.follow({ signal: controller.signal, onInterruption: abort }))).toEqual([])
  }
  const controller = new AbortController()
  await using it = await start({}, clock)
  it.api.append(1)
  const events = it.follow({ signal: controller.signal })
  expect(await next(events)).toBe(1)
  const pending = events.next()
  await clock.sleeperUntil(clock.now() + 40_000)
  controller.abort()
  expect(await pending).toEqual({ done: true, value: undefined })
})

test('an aborted signal sends no request', async () => {
  await using it = await start({})
  expect(await sequences(it.follow({ signal: AbortSignal.abort() }))).toEqual([])
  expect(it.api.requests).toEqual([])
})
