import { randomUUID } from 'node:crypto'
import type { Event, EventPage, Session } from '@berth/contract'
import { openStream } from '@berth/testing/events/stream.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
afterAll(() => test[Symbol.asyncDispose]())

/** Text that a second serialisation might write differently. */
const message = 'täglich 😀 "\\" \u2028 </script>\n\t\u0001 1.0'

/** Makes a Session with two Events for each Turn: its message and its cancellation. */
async function sessionWith(turns: number): Promise<Session> {
  const session = await test.api.createSession()
  for (let n = 0; n < turns; n += 1) await cancelledTurn(session)
  return session
}

async function cancelledTurn(session: Session): Promise<void> {
  const { run } = await test.api.submitTurn(session.id, message)
  await test.api.call('POST', `/v1/sessions/${session.id}/runs/${run.id}/cancel`)
}

const page = (session: Session, query = '') => test.api.get<EventPage>(`/v1/sessions/${session.id}/events${query}`)
const sequences = (events: readonly Event[]) => events.map(event => event.sequence)
const stream = (session: Session, query = '', headers: Record<string, string> = {}) =>
  openStream(`${test.url}/v1/sessions/${session.id}/events/stream${query}`, {
    authorization: `Bearer ${test.api.key}`,
    ...headers,
  })

describe('the page of events', () => {
  it('works as soon as the creation has answered, with or without a first turn', async () => {
    for (const body of [{}, { initialTurn: { id: randomUUID(), message } }]) {
      const id = randomUUID()
      await test.api.put(`/v1/sessions/${id}`, body)
      const answer = await test.api.get<EventPage>(`/v1/sessions/${id}/events`)
      const count = 'initialTurn' in body ? 1 : 0
      expect([answer.status, answer.body.events.length, answer.body.lastSequence]).toEqual([200, count, count])
    }
  })

  it('holds complete envelopes', async () => {
    const session = await test.api.createSession({}, message)
    const runId = session.activeRunId
    expect((await page(session)).body).toEqual({
      events: [
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          type: 'svc.message.created',
          createdAt: session.createdAt,
          sequence: 1,
          visibility: 'transcript',
          subject: { sessionId: session.id, runId },
          data: { messageId: expect.any(String), role: 'user', text: message, turnId: expect.any(String) },
        },
      ],
      lastSequence: 1,
    })
  })

  it('begins after its cursor and has the requested size', async () => {
    const session = await sessionWith(3)
    const read = async (query: string) => {
      const { events, lastSequence } = (await page(session, query)).body
      return [sequences(events), lastSequence]
    }
    expect(await read('')).toEqual([[1, 2, 3, 4, 5, 6], 6])
    expect(await read('?after=0&limit=2')).toEqual([[1, 2], 6])
    expect(await read('?after=2&limit=2')).toEqual([[3, 4], 6])
    expect(await read('?after=4&limit=100')).toEqual([[5, 6], 6])
    expect(await read('?after=6')).toEqual([[], 6])
    expect(await read(`?after=${'9'.repeat(30)}`)).toEqual([[], 6])
  })

  it('holds 100 events by default', async () => {
    const session = await sessionWith(1)
    await test.db.database.query(
      `with written as (
        insert into events (organization_id, session_id, sequence, type, envelope)
        select organization_id, session_id, n, type, envelope from events, generate_series(3, 101) n
        where session_id = $1 and sequence = 2
      ) update sessions set last_event_sequence = 101 where id = $1`,
      [session.id],
    )
    const { events, lastSequence } = (await page(session)).body
    expect([events.length, lastSequence]).toEqual([100, 101])
  })

  it('returns the same bytes each time', async () => {
    const session = await sessionWith(2)
    expect((await page(session)).text).toBe((await page(session)).text)
  })
})

describe('the stream of events', () => {
  it('opens with a comment if there are no events', async () => {
    await using events = await stream(await test.api.createSession())
    expect([events.status, events.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(await events.next()).toMatch(/^:/)
  })

  it('carries the bytes of the page, numbered, with no event field', async () => {
    const session = await sessionWith(3)
    const { text } = await page(session)
    await using events = await stream(session)
    const frames = await events.take(6)
    expect(frames.map(frame => frame.id)).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(`{"events":[${frames.map(frame => frame.data).join(',')}],"lastSequence":6}`).toBe(text)
    expect(frames.map(frame => frame.fields)).toEqual(frames.map(() => ['id', 'data']))
  })

  it.each([
    ['from the start', '', {}, 1],
    ['after its cursor', '?after=2', {}, 3],
    ['after the last event seen', '', { 'last-event-id': '3' }, 4],
    ['after the last event seen, whatever its cursor', '?after=4', { 'last-event-id': '1' }, 2],
    ['from the start, where that was all that was seen', '?after=4', { 'last-event-id': '0' }, 1],
  ])('begins %s', async (_, query, headers, first) => {
    await using events = await stream(await sessionWith(3), query, headers)
    expect((await events.take(1)).map(frame => frame.id)).toEqual([String(first)])
  })

  it("carries the end of an archived session's run", async () => {
    const session = await test.api.createSession({}, message)
    await using events = await stream(session, '?after=1')
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
    const [last] = await events.take(1)
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ type: 'svc.run.cancelled', sequence: 2 })
  })

  it('of an unknown session is refused like any request', async () => {
    const answer = await test.api.get(`/v1/sessions/${randomUUID()}/events/stream`)
    expect(outcome(answer)).toBe('404 cloud_session_not_found')
  })
})
