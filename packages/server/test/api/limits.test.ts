import { randomUUID } from 'node:crypto'
import { limits, originLimits, type Session, sourceLimits } from '@berth/contract'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Catalog names of the greatest length. */
const longest = {
  runtime: 'r'.repeat(limits.runtimeCharacters),
  model: `local/${'m'.repeat(limits.modelCharacters - 'local/'.length)}`,
}
const config = {
  providers: [{ id: 'local', kind: 'openai', models: [{ id: longest.model.slice('local/'.length) }] }],
  runtimes: [{ id: longest.runtime, command: ['agent'] }],
}

let test: TestService
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' }, config })
})
afterAll(() => test[Symbol.asyncDispose]())

const create = (body: object) => test.api.put<{ session: Session }>(`/v1/sessions/${randomUUID()}`, body)
const patch = (session: Session, body: object) => test.api.call('PATCH', `/v1/sessions/${session.id}`, body)
const submit = (session: Session, body: object) =>
  test.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, body)

const text = (count: number) => 'x'.repeat(count)
/** Characters of two UTF-16 units and four bytes each. */
const wide = (count: number) => '😀'.repeat(count)
const url = (count: number) => 'https://example.com/'.padEnd(count, 'x')
const initialTurn = (message: string) => ({ initialTurn: { id: randomUUID(), message } })

describe('the text of a session', () => {
  const rows: readonly [field: string, maximum: number, of: (value: string) => object, make: (n: number) => string][] =
    [
      ['title', 160, title => ({ title }), text],
      ['title', 160, title => ({ title }), wide],
      ['initialTurn.message', 100_000, initialTurn, text],
      ['initialTurn.message', 100_000, initialTurn, wide],
      ['origin.tenantKey', 128, tenantKey => ({ origin: { tenantKey } }), wide],
      ['origin.objectType', 64, objectType => ({ origin: { objectType } }), wide],
      ['origin.objectId', 256, objectId => ({ origin: { objectId } }), wide],
      ['origin.endUserId', 128, endUserId => ({ origin: { endUserId } }), wide],
      ['origin.label', 256, label => ({ origin: { label } }), wide],
      ['origin.url', 2048, link => ({ origin: { url: link } }), url],
    ]

  it.each(rows)('%s holds %i characters and comes back whole', async (field, maximum, of, make) => {
    const body = of(make(maximum))
    const answer = await create(body)
    expect(outcome(answer)).toBe('201')
    const { session } = answer.body
    if (field === 'initialTurn.message') {
      const turns = await test.api.get(`/v1/sessions/${session.id}/turns`)
      expect(turns.body.turns).toMatchObject([{ message: make(maximum) }])
    } else {
      expect(session).toMatchObject(body)
    }
  })

  it.each([
    ['title', { title: '' }],
    ['initialTurn.message', initialTurn('')],
    ['model', { model: '' }],
    ['runtime', { runtime: '' }],
  ])('%s must not be empty', async (field, body) => {
    expect(refusedFields(await create(body))).toBe(`400 invalid_request ${field}`)
  })

  it('has the same bounds in a change as in a creation', async () => {
    const session = await test.api.createSession()
    expect((await patch(session, { title: wide(160) })).body).toMatchObject({ session: { title: wide(160) } })
    expect(refusedFields(await patch(session, { title: wide(161) }))).toBe('400 invalid_request title')
    expect(refusedFields(await patch(session, { model: text(129) }))).toBe('400 invalid_request model')
    expect(refusedFields(await patch(session, { runtime: text(65) }))).toBe('400 invalid_request runtime')
  })

  it.each(['http://example.com', 'javascript:alert(1)', 'https://', 'https://a b', '/path', ''])(
    'refuses a link that is not HTTPS: %j',
    async link => {
      const [status, ...fields] = new Set(refusedFields(await create({ origin: { url: link } })).split(' '))
      expect([status, fields.at(-1)]).toEqual(['400', 'origin.url'])
    },
  )
})

describe('names in the catalog', () => {
  it('may have the greatest length', async () => {
    expect((await create(longest)).body.session).toMatchObject(longest)
  })

  it.each([
    ['runtime', text(65)],
    ['runtime', 'Shell'],
    ['runtime', '-shell'],
    ['runtime', 'she_ll'],
    ['runtime', 'shell\n'],
    ['model', text(129)],
  ])('%s is refused if its form is wrong: %j', async (field, value) => {
    const answer = await create({ [field]: value })
    expect(refusedFields(answer)).toBe(`400 invalid_request ${field}`)
    expect(answer.text).not.toContain('not one of the runtimes')
  })
})

describe('the reference to a repository', () => {
  const source = { grantId: randomUUID(), repositoryId: '1' }

  it.each([
    ['label', wide(sourceLimits.label)],
    ['baseBranch', wide(sourceLimits.baseBranch)],
  ])('accepts a complete %s', async (field, value) => {
    expect(outcome(await create({ source: { ...source, [field]: value } }))).toBe('403 cloud_repository_grant_required')
  })

  it.each([
    ['label', wide(sourceLimits.label + 1)],
    ['baseBranch', wide(sourceLimits.baseBranch + 1)],
    ['baseBranch', 'main\n'],
    ['baseBranch', 'a\rb'],
    ['baseBranch', 'a\0b'],
    ['repositoryId', 'x'],
    ['repositoryId', ''],
    ['grantId', 'x'],
    ['baseOid', '0'.repeat(40)],
  ])('refuses %s %.40j', async (field, value) => {
    const answer = await create({ source: { ...source, [field]: value } })
    expect(refusedFields(answer)).toBe(`400 invalid_request source.${field}`)
  })
})

describe('a turn', () => {
  it.each([
    ['message', 100_000, (message: string) => ({ message }), '202'],
    [
      'replyTo.interactionId',
      255,
      (interactionId: string) => ({ message: 'a', replyTo: { interactionId } }),
      '404 cloud_session_not_found',
    ],
    ['files.0.name', 255, (name: string) => ({ message: 'a', files: [{ name, content: '' }] }), '202'],
    [
      'files.0.mediaType',
      255,
      (mediaType: string) => ({ message: 'a', files: [{ name: 'a', mediaType, content: '' }] }),
      '202',
    ],
  ])('%s holds %i characters and no more', async (field, maximum, of, accepted) => {
    const session = await test.api.createSession()
    expect(refusedFields(await submit(session, of(text(maximum + 1))))).toBe(`400 invalid_request ${field}`)
    expect(refusedFields(await submit(session, of('')))).toBe(`400 invalid_request ${field}`)
    expect(outcome(await submit(session, of(text(maximum))))).toBe(accepted)
  })

  it('limits the names of files by characters and not by bytes', async () => {
    const session = await test.api.createSession()
    const named = (count: number) => ({ message: 'a', files: [{ name: wide(count), content: '' }] })
    expect(refusedFields(await submit(session, named(256)))).toBe('400 invalid_request files.0.name')
    const answer = await submit(session, named(255))
    expect(answer.body).toMatchObject({ turn: { files: [{ name: wide(255) }] } })
  })

  it('carries 20 files and no more', async () => {
    const session = await test.api.createSession()
    const files = Array.from({ length: 21 }, (_, n) => ({ name: `file-${n}`, content: '' }))
    expect(refusedFields(await submit(session, { message: 'a', files }))).toBe('400 invalid_request files')
    const answer = await submit(session, { message: 'a', files: files.slice(1) })
    expect(outcome(answer)).toBe('202')
    expect(answer.body).toMatchObject({ turn: { files: files.slice(1).map(({ name }) => ({ name })) } })
  })
})

describe('a request body', () => {
  const send = (body: string) =>
    fetch(`${test.url}/v1/sessions/${randomUUID()}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${test.api.key}`, 'content-type': 'application/json' },
      body,
    })

  it('is measured before it is parsed: a message within its characters can be too large', async () => {
    const body = (text: string) => `{"initialTurn":{"id":"${randomUUID()}","message":"${text}"}}`
    expect((await send(body(wide(limits.messageCharacters)))).status).toBe(201)
    expect((await send(body('\\ud83d\\ude00'.repeat(limits.messageCharacters)))).status).toBe(413)
  })

  it('counts an escaped character once', async () => {
    const escaped = '\\u0041'.repeat(limits.messageCharacters)
    expect((await send(`{"initialTurn":{"id":"${randomUUID()}","message":"${escaped}"}}`)).status).toBe(201)
  })
})

describe('a query', () => {
  it.each(['', '/fence', '/runs/{run}'])('is refused below an unknown session: %s', async read => {
    const session = await test.api.createSession({}, 'a')
    const path = `/v1/sessions/${session.id}${read.replace('{run}', session.activeRunId ?? '')}`
    expect(outcome(await test.api.get(path))).toBe('200')
    expect(refusedFields(await test.api.get(`${path}?limit=1`))).toBe('400 invalid_request limit')
  })

  it('accepts origins of the greatest length', async () => {
    const origin = {
      tenantKey: wide(originLimits.tenantKey),
      objectType: wide(originLimits.objectType),
      objectId: wide(originLimits.objectId),
    }
    const { session } = (await create({ origin })).body
    const query = Object.entries(origin).map(([name, value]) => `origin.${name}=${encodeURIComponent(value)}`)
    const answer = await test.api.get(`/v1/sessions?${query.join('&')}`)
    expect(answer.body.sessions).toMatchObject([{ id: session.id, origin }])
  })
})
