import { randomUUID } from 'node:crypto'
import type { Session, SessionState } from '@berth/contract'
import { writePreview } from '@berth/core/sessions/previews/preview-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { type OpenedStream, openStream } from '@berth/testing/events/stream.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let writer: LogWriter
let api: Api
let own: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = await startAccounts({
    // bound: a pause between two reads of a stream
    fixed: { streamsPerAuthority: 3, streamAuthorityMs: 1000 },
  })
  writer = await LogWriter.open(accounts.test.db)
  own = await accounts.person({})
  api = own.api
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const keyOf = ({ organizationId, id }: Session) => ({ organizationId, sessionId: id })
const open = (query: string, { key } = api) =>
  openStream(`${accounts.test.url}/cloud/live${query}`, { authorization: `Bearer ${key}` })

interface Frame {
  readonly kind: string
  readonly sessionId?: string
  readonly event?: { readonly sequence: number }
  readonly session?: Record<string, unknown>
}

/** Reads frames until one is as wanted; returns all. */
async function readUntil(stream: OpenedStream, wanted: (frame: Frame) => boolean): Promise<Frame[]> {
  const frames: Frame[] = []
  for (;;) {
    const [frame] = await stream.take(1)
    if (frame?.data === undefined) throw new Error(`the stream ended after ${JSON.stringify(frames)}`)
    frames.push(JSON.parse(frame.data))
    if (wanted(frames.at(-1) as Frame)) return frames
  }
}

describe('the stream of a tab', () => {
  it('has the Events of its Sessions, byte for byte as stored, each once and in order', async () => {
    const [one, two] = [await api.createSession(), await api.createSession()]
    await writer.append(keyOf(one), 3, { text: 'ünï "quoted" \\ </script> \u2028' })
    await using stream = await open(`?session=${one.id}:1&session=${two.id.toUpperCase()}:0`)
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
    await writer.append(keyOf(two), 2)
    const texts: string[] = []
    const seen = new Map<string, number>()
    while (seen.get(one.id) !== 4 || seen.get(two.id) !== 2) {
      const [frame] = await stream.take(1)
      texts.push(frame?.data ?? '')
      const { sessionId, event } = JSON.parse(frame?.data ?? '{}') as Frame
      seen.set(sessionId ?? '', event?.sequence ?? 0)
      expect(frame?.id).toBe(String(event?.sequence))
      if (sessionId === one.id && event?.sequence === 3) await writer.append(keyOf(one))
    }
    for (const [session, after] of [
      [one, 1],
      [two, 0],
    ] as const) {
      const stored = (await storedLog(accounts.test.db, keyOf(session))).filter(({ sequence }) => sequence > after)
      const received = texts.filter(text => text.includes(session.id))
      expect(received).toEqual(
        stored.map(({ envelope }) => `{"kind":"event","sessionId":"${session.id}","event":${envelope}}`),
      )
    }
  })

  it('tells a person what they mark elsewhere, and nobody else', async () => {
    const session = await api.createSession({ title: 'marked' }, 'a')
    const other = await accounts.person({})
    await using stream = await open('?feed=1')
    await using theirs = await open('?feed=1', other.api)
    for (const each of [stream, theirs]) await each.take(1)
    const path = `/cloud/sessions/${session.id}`
    const { lastEventSequence: sequence } = (await api.put<{ state: SessionState }>(`${path}/marks`, { pinned: true }))
      .body.state
    await readUntil(stream, ({ session: received }) => received?.['id'] === session.id && received['pinned'] === true)
    await api.put(`${path}/read`, { sequence })
    const read = await readUntil(stream, ({ session: received }) => received?.['unread'] === false)
    expect(read.at(-1)?.session).toMatchObject({ id: session.id, pinned: true })
    // The next that both hear of is the next change of a Session.
    const next = await accounts.test.api.createSession({ title: 'next' }, 'a')
    const frames = await readUntil(theirs, ({ session: received }) => received?.['id'] === next.id)
    expect(frames.filter(({ session: received }) => received?.['pinned'] === true)).toEqual([])
  })

  it('tells of every Session that changes after its first reset', async () => {
    const before = await api.createSession({ title: 'before' })
    await using stream = await open('?feed=1')
    expect(JSON.parse((await stream.take(1))[0]?.data ?? '')).toEqual({ kind: 'reset' })
    // Another person's and an installation's are seen by every member.
    const other = await accounts.test.api.createSession({ title: 'installed' }, 'a')
    const frames = await readUntil(stream, ({ session }) => session?.['id'] === other.id)
    expect(frames.some(({ session, kind }) => kind === 'reset' || session?.['id'] === before.id)).toBe(false)
    expect(frames.at(-1)?.session).toMatchObject({
      title: 'installed',
      phase: 'queued',
      archived: false,
      attention: null,
      unread: false,
      pinned: false,
    })
    await api.call('DELETE', `/v1/sessions/${before.id}`)
    const archived = await readUntil(stream, ({ session }) => session?.['id'] === before.id)
    expect(archived.at(-1)?.session).toMatchObject({ archived: true })
  })

  it('has the preview of a Session, until its Run has ended', async () => {
    const session = await api.createSession({}, 'a')
    const { organizationId } = own.who
    const key = keyOf(session)
    await using stream = await open(`?session=${session.id}:1`)
    const preview = { message: { messageId: randomUUID(), role: 'assistant', text: 'hel' }, activities: [] }
    const { database } = accounts.test.db
    const written = () => writePreview(database, key, session.activeRunId ?? '', JSON.stringify(preview), new Date())
    await until('somebody who watches', written)
    writer.announce(topics.preview(organizationId, session.id))
    expect(JSON.parse((await stream.take(1))[0]?.data ?? '')).toEqual({
      kind: 'preview',
      sessionId: session.id,
      preview,
    })
    await api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    const frames = await readUntil(stream, ({ kind }) => kind === 'preview')
    expect(frames.at(-1)).toEqual({ kind: 'preview', sessionId: session.id, preview: null })
  })

  it('is not for Sessions of another organization, nor does its feed tell of them', async () => {
    const { tenant, api: theirs } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const mine = await api.createSession()
    expect(outcome(await stranger.api.get(`/cloud/live?session=${mine.id}:0`))).toBe('404 cloud_session_not_found')
    await using stream = await open('?feed=1', stranger.api)
    await stream.take(1)
    await writer.append(keyOf(mine))
    const last = await theirs.createSession({ title: 'theirs' })
    const frames = await readUntil(stream, ({ session }) => session?.['id'] === last.id)
    expect(JSON.stringify(frames)).not.toContain(mine.id)
  })

  it.each([
    `?session=${randomUUID()}`,
    `?session=x:0`,
    `?session=${randomUUID()}:-1`,
    `?session=${randomUUID()}:01`,
    `?${Array.from({ length: 5 }, () => `session=${randomUUID()}:0`).join('&')}`,
    '?feed=2',
    '?feed=1&feed=1',
    '?other=1',
  ])('is refused for %s', async query => {
    expect(outcome(await api.get(`/cloud/live${query}`))).toBe('400 invalid_request')
  })

  it('counts once among the streams of its person, whatever it follows', async () => {
    const person = await accounts.person({})
    const [one, two] = [await api.createSession(), await api.createSession()]
    await using stack = new AsyncDisposableStack()
    for (let n = 0; n < 3; n += 1) {
      const stream = stack.use(await open(`?feed=1&session=${one.id}:0&session=${two.id}:0`, person.api))
      expect(stream.status).toBe(200)
    }
    expect(outcome(await person.api.get('/cloud/live?feed=1'))).toBe('429 cloud_rate_limit_exceeded')
    // Previews are streams like any other.
    expect(outcome(await person.api.get(`/v1/sessions/${one.id}/previews`))).toBe('429 cloud_rate_limit_exceeded')
  })

  it('ends when its person is removed', async () => {
    const person = await accounts.person({})
    await using stream = await open('?feed=1', person.api)
    await stream.take(1)
    await accounts.test.db.database.query('update memberships set revoked_at = now() where id = $1', [
      person.who.membershipId,
    ])
    while ((await stream.next()) !== undefined);
    expect(outcome(await person.api.get('/cloud/live?feed=1'))).toBe('401 invalid_or_expired_credential')
  })
})

describe('what a person has read and pinned', () => {
  const stateOf = async (at: Api, id: string) => {
    const { body } = await at.get<{ sessions: { session: Session; state: Record<string, unknown> }[] }>(
      '/cloud/sessions',
    )
    return body.sessions.find(({ session }) => session.id === id)?.state
  }

  it('is theirs alone, and reading never goes back', async () => {
    const session = await api.createSession({ title: 'to read' })
    const newest = await writer.append(keyOf(session), 2)
    const other = await accounts.person({})
    expect(await stateOf(api, session.id)).toMatchObject({ unread: true, lastEventSequence: newest })
    const read = await api.put(`/cloud/sessions/${session.id}/read`, { sequence: newest })
    expect(read.body).toMatchObject({ state: { unread: false } })
    await api.put(`/cloud/sessions/${session.id}/read`, { sequence: 0 })
    expect(await stateOf(api, session.id)).toMatchObject({ unread: false })
    // Others have never opened it, so it is no news to them until they have.
    expect(await stateOf(other.api, session.id)).toMatchObject({ unread: false })
    await other.api.put(`/cloud/sessions/${session.id}/read`, { sequence: newest })
    expect(await stateOf(other.api, session.id)).toMatchObject({ unread: false })
    await api.put(`/cloud/sessions/${session.id}/read`, { sequence: 1_000_000 })
    await writer.append(keyOf(session))
    expect(await stateOf(api, session.id)).toMatchObject({ unread: true })
    expect(await stateOf(other.api, session.id)).toMatchObject({ unread: true })
  })

  it('pins and unpins', async () => {
    const session = await api.createSession()
    expect((await api.put(`/cloud/sessions/${session.id}/marks`, { pinned: true })).body).toMatchObject({
      state: { pinned: true },
    })
    expect(await stateOf((await accounts.person({})).api, session.id)).toMatchObject({ pinned: false })
    await api.put(`/cloud/sessions/${session.id}/marks`, { pinned: false })
    expect(await stateOf(api, session.id)).toMatchObject({ pinned: false })
  })

  it.each(['read', 'marks'])('is not noted for a Session of another organization: %s', async what => {
    const session = await api.createSession()
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const body = what === 'read' ? { sequence: 1 } : { pinned: true }
    expect(outcome(await stranger.api.put(`/cloud/sessions/${session.id}/${what}`, body))).toBe(
      '404 cloud_session_not_found',
    )
  })
})
