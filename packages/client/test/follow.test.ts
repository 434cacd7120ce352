import { expect, test } from 'vitest'
import { answer, next, sequences, start, until, upTo } from './follow-setup.ts'
import { ManualClock } from './manual-clock.ts'
import { eventAt, frame, openStream, sessionId } from './scripted-api.ts'

test('the follower subscribes before it reads a page', async () => {
  await using it = await start({})
  it.api.append(2)
  expect(await sequences(it.follow({ until: until(2) }))).toEqual([1, 2])
  expect(it.api.requests).toEqual([
    `GET /v1/sessions/${sessionId}/events/stream?after=0`,
    `GET /v1/sessions/${sessionId}/events?after=0&limit=100`,
  ])
})

test('the follower starts after the cursor, and waits if the cursor is beyond the log', async () => {
  await using it = await start({
    stream: ({ response }) => {
      openStream(response)
      for (const event of it.api.log) response.write(frame(event))
      for (let sequence = 4; sequence <= 8; sequence++) {
        it.api.append(1)
        response.write(frame(eventAt(sequence)))
      }
    },
  })
  it.api.append(3)
  expect(await sequences(it.follow({ after: 2, until: until(4) }))).toEqual([3, 4])
  it.api.log.length = 3
  expect(await sequences(it.follow({ after: 6, until: until(8) }))).toEqual([7, 8])
})

test('an Event between subscribing and paging is neither lost nor repeated', async () => {
  await using it = await start({
    stream: ({ response }) => {
      openStream(response)
      it.api.append(1)
      response.write(frame(eventAt(1)))
      it.api.append(1)
      response.write(frame(eventAt(2)))
    },
  })
  expect(await sequences(it.follow({ until: until(2) }))).toEqual([1, 2])
})

test('unknown types and extra fields are passed on', async () => {
  const odd = { type: 'svc.from.the.future', data: { x: [1] }, subject: { sessionId, other: 'y' } }
  await using it = await start({})
  it.api.append(1, () => odd)
  for await (const event of it.follow({ until: until(1) })) expect(event).toEqual(eventAt(1, odd))
})

test('duplicated, missing and reordered frames are yielded once and in order', async () => {
  await using it = await start({
    page: (response, index) => index === 0 && answer(response, { events: [], lastSequence: 0 }),
    stream: ({ response }) => {
      openStream(response)
      it.api.append(9)
      for (const sequence of [1, 1, 2, 5, 4, 3, 5, 9]) response.write(frame(eventAt(sequence)))
    },
  })
  expect(await sequences(it.follow({ until: until(9) }))).toEqual(upTo(9))
})

test('a replay that starts too late is completed from pages', async () => {
  await using it = await start({
    stream: ({ response }) => {
      openStream(response)
      for (const event of it.api.log.slice(-10)) response.write(frame(event))
    },
  })
  it.api.append(350)
  expect(await sequences(it.follow({ until: until(350) }))).toEqual(upTo(350))
})

test('pages overtake a stream that stays silent behind the log', async () => {
  const clock = new ManualClock()
  await using it = await start({}, clock)
  it.api.append(250)
  const all = sequences(it.follow({ until: until(250) }))
  await clock.sleeperUntil(2_000)
  expect(it.api.pages).toBe(1)
  clock.advance(2_000)
  expect(await all).toEqual(upTo(250))
  expect(it.api.pages).toBe(3)
})

test('the follower finds lost last frames by checking the log', async () => {
  const clock = new ManualClock()
  await using it = await start({}, clock)
  it.api.append(1)
  const events = it.follow({ watchdogMs: 1_000_000 })
  expect(await next(events)).toBe(1)
  const second = next(events)
  await clock.sleeperUntil(60_000)
  it.api.append(1)
  clock.advance(60_000)
  expect(await second).toBe(2)
  await events.return()
})

test('the follower resumes with Last-Event-ID after a cut in the middle of a frame', async () => {
  const resumed: number[] = []
  await using it = await start({
    stream: ({ index, lastEventId, response }) => {
      resumed.push(lastEventId)
      openStream(response)
      if (index === 0) it.api.append(1)
      const text = frame(eventAt(lastEventId + 1))
      if (index === 0) response.write(text)
      response.write(frame(eventAt(lastEventId + 2)).slice(0, 40), () => {
        it.api.append(1)
        response.socket?.destroy()
      })
    },
  })
  expect(await sequences(it.follow({ until: until(3) }))).toEqual([1, 2, 3])
  expect(resumed[0]).toBe(0)
  expect(resumed[1]).toBeGreaterThan(0)
})

test('the follower never skips Events that the log does not show yet', async () => {
  await using it = await start({
    page: (response, index) => index < 2 && answer(response, { events: [], lastSequence: 0 }),
    stream: ({ index, response }) => {
      openStream(response)
      if (index === 0) it.api.append(3)
      response.write(frame(eventAt(3)))
    },
  })
  expect(await sequences(it.follow({ until: until(3) }))).toEqual([1, 2, 3])
})

test('leaving the loop closes the stream', async () => {
  const closed = Promise.withResolvers<void>()
  await using it = await start({
    stream: ({ response }) => {
      openStream(response)
      response.on('close', () => closed.resolve())
    },
  })
  it.api.append(1)
  for await (const event of it.follow()) {
    expect(event.sequence).toBe(1)
    break
  }
  await closed.promise
})

test('calls that wait together are answered in order, and the last after the end', async () => {
  await using it = await start({})
  const controller = new AbortController()
  const events = it.follow({ signal: controller.signal })
  const calls = Array.from({ length: 3 }, () => events.next())
  it.api.append(3)
  const answers = await Promise.all(calls)
  expect(answers.map(({ value }) => value?.sequence)).toEqual([1, 2, 3])
  const left = events.return()
  expect(await Promise.all([left, events.next()])).toEqual(Array(2).fill({ done: true, value: undefined }))
})

test('an abort withholds the Events that have come already', async () => {
  await using it = await start({})
  it.api.append(5)
  const controller = new AbortController()
  const seen: number[] = []
  for await (const { sequence } of it.follow({ signal: controller.signal })) {
    seen.push(sequence)
    if (sequence === 2) controller.abort()
  }
  expect(seen).toEqual([1, 2])
})

test('an error that the consumer throws into the follower closes the stream', async () => {
  const closed = Promise.withResolvers<void>()
  await using it = await start({
    stream: ({ response }) => {
      openStream(response)
      response.on('close', () => closed.resolve())
    },
  })
  it.api.append(2)
  const events = it.follow()
  expect(await next(events)).toBe(1)
  const mine = new Error('mine')
  await expect(events.throw(mine)).rejects.toBe(mine)
  await closed.promise
  expect(await events.next()).toEqual({ done: true, value: undefined })
})
