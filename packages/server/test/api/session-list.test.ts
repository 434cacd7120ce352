import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Session, SessionPage } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation, type Tenant } from '@berth/testing/api/tenant.ts'
import { refusedFields } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let test: TestService
let tenant: Tenant
let api: Api
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
beforeEach(async () => {
  const made = await test.newTenant()
  tenant = made.tenant
  api = made.api
})
afterAll(() => test[Symbol.asyncDispose]())

const page = async (query = '') => (await api.get<SessionPage>(`/v1/sessions${query}`)).body
const titles = async (query?: string) => (await page(query)).sessions.map(session => session.title)

/** Changes Sessions in different milliseconds: the order within one is undefined. */
async function change<T>(request: () => Promise<T>): Promise<T> {
  for (const before = Date.now(); Date.now() === before; ) await setImmediate()
  return request()
}

const create = (body: Record<string, unknown>) => change(() => api.createSession(body))
const rename = (session: Session, title: string) =>
  change(() => api.call('PATCH', `/v1/sessions/${session.id}`, { title }))
const archive = (session: Session) => change(() => api.call('DELETE', `/v1/sessions/${session.id}`))

async function createAll(...names: string[]): Promise<Session[]> {
  const sessions: Session[] = []
  for (const title of names) sessions.push(await create({ title }))
  return sessions
}

/** Lists the titles of every page, one list for each. */
async function allPages(query: string): Promise<string[][]> {
  const pages: string[][] = []
  for (let cursor = ''; ; ) {
    const { sessions, nextCursor, hasMore } = await page(`?${query}${cursor}`)
    pages.push(sessions.map(session => session.title))
    if (!hasMore) return pages
    cursor = `&cursor=${encodeURIComponent(nextCursor ?? '')}`
  }
}

/** Gives Sessions the same time of change. */
async function changeAtOnce(sessions: readonly Session[]): Promise<void> {
  await test.db.database.query('update sessions set updated_at = $1 where id = any($2)', [
    new Date(),
    sessions.map(session => session.id),
  ])
}

describe('the list of sessions', () => {
  it('is empty and has no cursor if there are no sessions', async () => {
    expect(await page()).toEqual({ sessions: [], nextCursor: null, hasMore: false })
  })

  it('holds each session as its own read returns it, but for the state of its agent', async () => {
    const session = await api.createSession({ title: 'a', origin: { objectId: '1' } }, 'm')
    const { sessions, nextCursor, hasMore } = await page()
    const { plan: _plan, background: _background, ...listed } = await api.session(session.id)
    expect({ sessions, hasMore }).toEqual({ sessions: [listed], hasMore: false })
    expect(nextCursor).not.toBeNull()
  })

  it('puts the last changed session first, whatever the change', async () => {
    const [a, b] = await createAll('a', 'b', 'c')
    expect(await titles()).toEqual(['c', 'b', 'a'])
    if (a === undefined || b === undefined) throw new Error('not created')
    await rename(a, 'A')
    expect(await titles()).toEqual(['A', 'c', 'b'])
    await change(() => api.submitTurn(b.id, 'm'))
    expect(await titles()).toEqual(['b', 'A', 'c'])
    await archive(a)
    expect(await titles('?archived=true')).toEqual(['A', 'b', 'c'])
  })

  it('shows 50 sessions by default', async () => {
    for (let left = 51; left > 0; left -= 17) await Promise.all(Array.from({ length: 17 }, () => api.createSession()))
    const { sessions, hasMore } = await page()
    expect([sessions.length, hasMore]).toEqual([50, true])
    expect((await page('?limit=51')).hasMore).toBe(false)
  })

  it('shows an installation only its own sessions', async () => {
    await createAll('mine')
    const sibling = await createInstallation(test.db.database, tenant.organizationId, tenant.appSlug)
    const siblings = new Api(test.url, sibling.apiKey)
    await siblings.createSession({ title: 'theirs' })
    expect(await titles()).toEqual(['mine'])
    const { body } = await siblings.get<SessionPage>('/v1/sessions?archived=true')
    expect(body.sessions.map(session => session.title)).toEqual(['theirs'])
  })
})

describe('the pages', () => {
  it('hold every session once, in one order', async () => {
    await createAll('a', 'b', 'c', 'd', 'e')
    expect(await allPages('limit=2')).toEqual([['e', 'd'], ['c', 'b'], ['a']])
    expect(await allPages('limit=5')).toEqual([['e', 'd', 'c', 'b', 'a']])
  })

  it('neither lose nor repeat sessions that changed at the same time', async () => {
    const sessions = await createAll('a', 'b', 'c', 'd', 'e')
    await changeAtOnce(sessions)
    const paged = (await allPages('limit=2')).flat()
    expect(paged.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(paged).toEqual(await titles())
  })

  it('continue at their place when a session moves to the front', async () => {
    const [a] = await createAll('a', 'b', 'c')
    const first = await page('?limit=1')
    if (a === undefined) throw new Error('not created')
    await rename(a, 'A')
    expect(await titles(`?limit=2&cursor=${first.nextCursor}`)).toEqual(['b'])
    expect(await titles()).toEqual(['A', 'c', 'b'])
  })

  it('end with an empty page, and only then without a cursor', async () => {
    await createAll('a')
    const { nextCursor } = await page()
    expect(await page(`?cursor=${nextCursor}`)).toEqual({ sessions: [], nextCursor: null, hasMore: false })
  })

  it.each([
    'x',
    'AAAA',
    Buffer.alloc(24, 0xff).toString('base64url'),
    `${Buffer.alloc(24).toString('base64url')}=`,
    Buffer.alloc(25).toString('base64url'),
    'a'.repeat(1024),
    '%27%3B--',
  ])('refuse a cursor that no page returned: %.20s', async cursor => {
    expect(refusedFields(await api.get(`/v1/sessions?cursor=${cursor}`))).toBe('400 invalid_request cursor')
  })

  it.each(['limit=0', 'limit=101', 'limit=-1', 'limit=x', 'limit=1.5', 'limit='])('refuse the size %s', async query => {
    expect(refusedFields(await api.get(`/v1/sessions?${query}`))).toBe('400 invalid_request limit')
  })

  it.each(['limit=1', 'limit=100'])('accept sizes up to the largest: %s', async query => {
    await createAll('a')
    expect(await titles(`?${query}`)).toEqual(['a'])
  })
})

describe('archived sessions', () => {
  it('are left out, added or listed alone, as requested', async () => {
    const [a, , c] = await createAll('a', 'b', 'c')
    if (a === undefined || c === undefined) throw new Error('not created')
    await archive(c)
    await archive(a)
    expect(await titles()).toEqual(['b'])
    expect(await titles('?archived=true')).toEqual(['a', 'c', 'b'])
    expect(await titles('?archived=only')).toEqual(['a', 'c'])
    expect(await allPages('limit=1&archived=only')).toEqual([['a'], ['c']])
  })

  it.each(['false', 'TRUE', '', '1'])('cannot be requested with %j', async archived => {
    expect(refusedFields(await api.get(`/v1/sessions?archived=${archived}`))).toBe('400 invalid_request archived')
  })
})

describe('the origin as a filter', () => {
  beforeEach(async () => {
    await create({ title: 'a', origin: { tenantKey: 'T', objectType: 'ticket', objectId: '1' } })
    await create({ title: 'b', origin: { tenantKey: 'T', objectType: 'ticket', objectId: '2' } })
    await create({ title: 'c', origin: { tenantKey: 't', objectType: 'page', objectId: '1' } })
    await create({ title: 'd' })
  })

  it.each([
    ['origin.tenantKey=T', ['b', 'a']],
    ['origin.objectType=ticket', ['b', 'a']],
    ['origin.objectId=1', ['c', 'a']],
    ['origin.objectId=1&origin.objectType=page', ['c']],
    ['origin.tenantKey=T&origin.objectType=ticket&origin.objectId=2', ['b']],
    ['origin.tenantKey=T&origin.objectType=page', []],
    ['origin.objectId=%25', []],
    ['origin.objectId=', []],
  ])('matches exactly the named members: %s', async (query, found) => {
    expect(await titles(`?${query}`)).toEqual(found)
  })

  it('applies to every page', async () => {
    expect(await allPages('limit=1&origin.tenantKey=T')).toEqual([['b'], ['a']])
  })

  it('refuses any other member', async () => {
    expect(refusedFields(await api.get('/v1/sessions?origin.label=x'))).toBe('400 invalid_request origin.label')
    expect(refusedFields(await api.get(`/v1/sessions?id=${randomUUID()}`))).toBe('400 invalid_request id')
  })
})
