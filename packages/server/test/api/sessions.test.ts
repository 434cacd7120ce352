import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const consoleUrl = 'https://console.example'
const config = {
  providers: [{ id: 'local', kind: 'openai', models: [{ id: 'm1' }, { id: 'm2' }, { id: 'deep', reasoning: true }] }],
  models: { default: 'local/m1', aliases: { fast: 'local/m2' } },
  runtimes: [{ id: 'foreign', command: ['agent'] }],
}

let test: TestService
let worker: WorkerStandIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api', BERTH_CONSOLE_URL: consoleUrl }, config })
  worker = new WorkerStandIn(test.db.database)
})
afterAll(() => test[Symbol.asyncDispose]())

type Envelope = { session: Session }

const create = (body: object, id: string = randomUUID()) => test.api.put<Envelope>(`/v1/sessions/${id}`, body)
const patch = (session: Session, body: object) => test.api.call<Envelope>('PATCH', `/v1/sessions/${session.id}`, body)
const archive = (session: Session) => test.api.call('DELETE', `/v1/sessions/${session.id}`)
const firstTurn = (message: string) => ({ initialTurn: { id: randomUUID(), message } })

/** Makes a Session whose first Run has ended, so that its runtime is settled. */
async function settledSession(body: object = {}): Promise<Session> {
  const session = await test.api.createSession({ ...body }, 'a')
  await test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
  return session
}

describe('creating a session', () => {
  it('answers 201 with its location and complete initial state', async () => {
    const id = randomUUID()
    const answer = await create({}, id)
    expect([answer.status, answer.headers.get('location')]).toEqual([201, `/v1/sessions/${id}`])
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(answer.body).toEqual({
      session: {
        id,
        sessionUrl: `${consoleUrl}/sessions/${id}`,
        organizationId: test.tenant.organizationId,
        title: 'New workspace',
        model: 'local/m1',
        workspace: { state: 'unavailable', expiresAt: null },
        continuation: {
          canContinue: true,
          state: 'fresh',
          conversation: { fidelity: 'none' },
          workspace: { fidelity: 'none' },
          reason: 'no_prior_work',
        },
        phase: 'idle',
        status: 'done',
        changes: null,
        plan: null,
        background: [],
        lastRun: null,
        createdBy: { kind: 'app_installation', id: test.tenant.installationId },
        createdAt: time,
        updatedAt: time,
        lastEventSequence: 0,
        environment: null,
        budget: null,
        parent: null,
        effort: null,
      },
    })
    expect((await test.api.get(`/v1/sessions/${id}`)).body).toEqual(answer.body)
  })

  it('queues the first turn, whose id can be read and replayed', async () => {
    const turn = { id: randomUUID(), message: 'do it' }
    const session = (await create({ initialTurn: turn })).body.session
    expect(session).toMatchObject({ phase: 'queued', title: 'do it', lastEventSequence: 1 })
    const replay = await test.api.put(`/v1/sessions/${session.id}/turns/${turn.id}`, { message: 'do it' })
    expect(replay).toMatchObject({ status: 202, body: { created: false, run: { id: session.activeRunId } } })
  })

  it('stores its origin unchanged', async () => {
    const origin = {
      tenantKey: 'T-1',
      objectType: 'ticket',
      objectId: '42',
      endUserId: 'f00d',
      label: 'Größe 📏',
      url: 'https://example.com/42?x=1#y',
    }
    expect((await create({ origin })).body.session.origin).toEqual(origin)
    expect((await create({ origin: {} })).body.session.origin).toEqual({})
  })

  it('is refused as POST on the collection', async () => {
    const answer = await test.api.call('POST', '/v1/sessions', {})
    expect([outcome(answer), answer.headers.get('allow'), answer.body.allow]).toEqual([
      '405 method_not_allowed',
      'GET',
      ['GET'],
    ])
  })

  it('treats an id as the same in either case and answers in lower case', async () => {
    const [id, turnId] = [randomUUID(), randomUUID()]
    const made = await create({ initialTurn: { id: turnId.toUpperCase(), message: 'a' } }, id.toUpperCase())
    expect([made.status, made.body.session.id, made.headers.get('location')]).toEqual([201, id, `/v1/sessions/${id}`])
    expect((await create({ initialTurn: { id: turnId, message: 'a' } }, id)).status).toBe(200)
    const path = `/v1/sessions/${id.toUpperCase()}`
    expect((await test.api.get<Envelope>(path)).body.session.id).toBe(id)
    const turn = await test.api.put(`${path}/turns/${turnId.toUpperCase()}`, { message: 'a' })
    expect(turn.body).toMatchObject({ created: false, turn: { id: turnId, sessionId: id } })
    const runId = made.body.session.activeRunId ?? ''
    expect((await test.api.get(`${path}/runs/${runId.toUpperCase()}`)).body).toMatchObject({ run: { id: runId } })
  })

  it('refuses a source without a grant and an environment that there is not', async () => {
    const id = randomUUID()
    const source = { grantId: randomUUID(), repositoryId: '1' }
    expect(outcome(await create({ source }, id))).toBe('403 cloud_repository_grant_required')
    expect(outcome(await create({ environment: { id: randomUUID() } }, id))).toBe('404 environment_not_found')
    expect(outcome(await test.api.get(`/v1/sessions/${id}`))).toBe('404 cloud_session_not_found')
  })
})

describe('the title', () => {
  it.each([
    ['the first line that says something', '\n \t\r\n  First line \nsecond', 'First line'],
    ['a line ended by a carriage return', 'one\rtwo', 'one'],
    ['the first sentence', 'Fix the v1.2 parser. It fails on tabs.', 'Fix the v1.2 parser'],
    ['a question', 'Why is it red? Look.', 'Why is it red?'],
    ['without a command', '/plan\nMend the till', 'Mend the till'],
    ['without a command and its arguments', '/plan Mend the till', 'Mend the till'],
    ['a path, which is no command', '/etc/hosts is wrong', '/etc/hosts is wrong'],
    ['without Markdown', '## **Fix** `add()` in [the _till_](http://x/)', 'Fix add() in the _till_'],
    ['what a list begins with', '```sh\n- 1 * 2 * 3', '1 * 2 * 3'],
    ['60 characters and no more', 'é'.repeat(61), `${'é'.repeat(59)}…`],
    ['60 characters as they are', 'é'.repeat(60), 'é'.repeat(60)],
    ['whole words', `${'word '.repeat(20)}end`, `${'word '.repeat(11).trim()}…`],
    ['whole characters', `${'a'.repeat(58)}😀😀😀`, `${'a'.repeat(58)}😀…`],
    ['that of an idle session where no line says anything', ' \n\t\n', 'New workspace'],
  ])('is %s', async (_, message, title) => {
    expect((await create(firstTurn(message))).body.session.title).toBe(title)
  })

  it('of an idle session is taken from its first turn, unless somebody gives one before', async () => {
    const titleAfter = async (body: object, change: object | null) => {
      const { session } = (await create(body)).body
      if (change !== null) await patch(session, change)
      await test.api.submitTurn(session.id, 'Mend it')
      return (await test.api.session(session.id)).title
    }
    expect(await titleAfter({}, null)).toBe('Mend it')
    expect(await titleAfter({}, { title: 'Mine' })).toBe('Mine')
    expect(await titleAfter({ title: 'Mine' }, null)).toBe('Mine')
  })

  it('is the given one, whatever the message says', async () => {
    expect((await create({ title: ' Mine ', ...firstTurn('theirs') })).body.session.title).toBe(' Mine ')
  })
})

describe('a repeated creation', () => {
  const body = { title: 'a', origin: { label: 'x', objectId: '1' }, ...firstTurn('m') }

  it('answers 200 with the session as it is now', async () => {
    const { session } = (await create(body)).body
    await patch(session, { title: 'renamed' })
    const replay = await create(body, session.id)
    expect([replay.status, replay.headers.get('location')]).toEqual([200, `/v1/sessions/${session.id}`])
    expect(replay.body.session).toEqual(await test.api.session(session.id))
    expect(replay.body.session.title).toBe('renamed')
  })

  it.each([
    ['in another order', { ...firstTurn('m') }, (first: object) => Object.fromEntries(Object.entries(first).reverse())],
    ['with nulls where null means absent', {}, () => ({ model: null, runtime: null, environment: null })],
    ['naming the native runtime', {}, () => ({ runtime: 'native' })],
  ])('may be written %s', async (_, first, second) => {
    const body = { title: 'a', ...first }
    const { session } = (await create(body)).body
    expect((await create({ ...second(body), title: 'a' }, session.id)).status).toBe(200)
  })

  it.each([
    ['another title', { ...body, title: 'b' }],
    ['no title', { origin: body.origin, initialTurn: body.initialTurn }],
    ['another origin', { ...body, origin: { ...body.origin, label: 'y' } }],
    ['another first turn', { ...body, ...firstTurn('m') }],
    ['a model', { ...body, model: 'fast' }],
    ['a runtime', { ...body, runtime: 'shell' }],
  ])('with %s is a conflict', async (_, other) => {
    const { session } = (await create(body)).body
    const before = await test.api.session(session.id)
    expect(outcome(await create(other, session.id))).toBe('409 cloud_session_conflict')
    expect(await test.api.session(session.id)).toEqual(before)
  })
})

describe('the runtime and the model', () => {
  it.each([
    ['nothing', {}, { model: 'local/m1', runtime: undefined }],
    ['the native runtime', { runtime: 'native' }, { model: 'local/m1', runtime: undefined }],
    ['an alias', { model: 'fast' }, { model: 'fast', runtime: undefined }],
    ['a foreign runtime', { runtime: 'foreign' }, { model: undefined, runtime: 'foreign' }],
    ['both', { runtime: 'shell', model: 'local/m2' }, { model: 'local/m2', runtime: 'shell' }],
  ])('are stored as requested: %s', async (_, body, settled) => {
    const { session } = (await create(body)).body
    expect({ model: session.model, runtime: session.runtime }).toEqual(settled)
  })

  it('must be in the catalog, and the refusal lists it', async () => {
    const unknown = await create({ runtime: 'gone' })
    expect(refusedFields(unknown)).toBe('400 invalid_request runtime')
    expect(unknown.text).toMatch(/native.*shell.*foreign/)
    expect(refusedFields(await create({ model: 'local/m3' }))).toBe('400 invalid_request model')
  })

  it('are copied into each turn at its admission', async () => {
    const session = await settledSession({ runtime: 'shell' })
    await patch(session, { model: 'fast' })
    const { turn } = await test.api.submitTurn(session.id, 'b')
    expect(turn).toMatchObject({ runtime: 'shell', model: 'fast' })
    await patch(session, { model: null })
    const turns = await test.api.get<{ turns: object[] }>(`/v1/sessions/${session.id}/turns`)
    expect(turns.body.turns[1]).toEqual(turn)
    expect(turns.body.turns[0]).not.toHaveProperty('model')
  })
})

describe('the effort', () => {
  it("is the model's default until it is set, and can be changed and taken back", async () => {
    const { session } = (await create({ model: 'local/deep' })).body
    expect(session.effort).toBeNull()
    for (const effort of ['minimal', 'low', 'medium', 'high', 'max', null]) {
      expect((await patch(session, { effort })).body.session).toMatchObject({ effort, model: 'local/deep' })
    }
    expect((await create({ model: 'local/deep', effort: 'high' })).body.session.effort).toBe('high')
  })

  it('is copied into each turn at its admission', async () => {
    const session = await test.api.createSession({ model: 'local/deep', effort: 'low' }, 'a')
    await test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await patch(session, { effort: null })
    await test.api.submitTurn(session.id, 'b')
    const { body } = await test.api.get<{ turns: object[] }>(`/v1/sessions/${session.id}/turns`)
    expect(body.turns[0]).toMatchObject({ effort: 'low' })
    expect(body.turns[1]).not.toHaveProperty('effort')
  })

  it('is refused for a model that does not reason, and for a word that is none', async () => {
    expect(refusedFields(await create({ model: 'local/m2', effort: 'high' }))).toBe('400 invalid_request effort')
    expect(refusedFields(await create({ model: 'fast', effort: 'low' }))).toBe('400 invalid_request effort')
    expect(refusedFields(await create({ effort: 'low' }))).toBe('400 invalid_request effort')
    expect(refusedFields(await create({ model: 'local/deep', effort: 'much' }))).toBe('400 invalid_request effort')
    const session = await test.api.createSession({ model: 'local/deep', effort: 'high' })
    expect(refusedFields(await patch(session, { model: 'fast' }))).toBe('400 invalid_request effort')
    expect((await patch(session, { model: 'fast', effort: null })).body.session.effort).toBeNull()
    expect(refusedFields(await patch(session, { effort: 'high' }))).toBe('400 invalid_request effort')
  })

  it('of an agent with a model of its own choice is taken as it is', async () => {
    expect((await create({ runtime: 'foreign', effort: 'max' })).body.session.effort).toBe('max')
  })
})

describe('changing a session', () => {
  it('writes the named members, leaves the rest, and moves updatedAt', async () => {
    const session = await test.api.createSession({ title: 'a', model: 'fast' })
    const answer = await patch(session, { title: 'b' })
    expect(answer.status).toBe(200)
    const { updatedAt, ...changed } = answer.body.session
    const { updatedAt: before, ...same } = session
    expect(changed).toEqual({ ...same, title: 'b' })
    expect(Date.parse(updatedAt)).toBeGreaterThanOrEqual(Date.parse(before))
    expect(await test.api.session(session.id)).toEqual(answer.body.session)
  })

  it('leaves updatedAt if nothing changes', async () => {
    const session = await test.api.createSession({ title: ' a\n\tb ', model: 'fast' })
    expect(session.title).toBe(' a\n\tb ')
    for (const body of [{ title: session.title }, { model: 'fast' }, { runtime: 'native' }, { environment: null }]) {
      expect((await patch(session, body)).body.session).toEqual(session)
    }
  })

  it('can be repeated, and the last change wins', async () => {
    const session = await test.api.createSession()
    for (const title of ['b', 'b', 'c']) expect((await patch(session, { title })).body.session.title).toBe(title)
  })

  it('must name a member', async () => {
    expect(outcome(await patch(await test.api.createSession(), {}))).toBe('400 invalid_request')
  })

  it('moves an empty session from one runtime to another', async () => {
    const session = await test.api.createSession({ model: 'fast' })
    const models = async (body: object) => {
      const { runtime, model } = (await patch(session, body)).body.session
      return { runtime, model }
    }
    expect(await models({ runtime: 'foreign', model: null })).toEqual({ runtime: 'foreign', model: undefined })
    expect(await models({ model: 'local/m2' })).toEqual({ runtime: 'foreign', model: 'local/m2' })
    expect(await models({ runtime: 'native' })).toEqual({ runtime: undefined, model: 'local/m1' })
    expect(await models({ runtime: null, model: 'fast' })).toEqual({ runtime: undefined, model: 'fast' })
    expect(await models({ model: null })).toEqual({ runtime: undefined, model: 'local/m1' })
  })

  it('finds the runtime fixed by the first turn, and accepts only that one afterwards', async () => {
    const foreign = await settledSession({ runtime: 'foreign' })
    for (const runtime of ['shell', 'native', null, 'gone']) {
      expect(outcome(await patch(foreign, { runtime }))).toBe('409 cloud_session_settled')
    }
    expect((await patch(foreign, { runtime: 'foreign' })).status).toBe(200)
    const native = await settledSession()
    expect(outcome(await patch(native, { runtime: 'shell' }))).toBe('409 cloud_session_settled')
    for (const runtime of ['native', null]) expect((await patch(native, { runtime })).status).toBe(200)
    expect((await test.api.session(native.id)).runtime).toBeUndefined()
  })

  it('refuses an unknown runtime, model or environment, and changes nothing', async () => {
    const session = await test.api.createSession()
    expect(refusedFields(await patch(session, { title: 'b', runtime: 'gone' }))).toBe('400 invalid_request runtime')
    expect(refusedFields(await patch(session, { title: 'b', model: 'gone' }))).toBe('400 invalid_request model')
    expect(outcome(await patch(session, { title: 'b', environment: { id: randomUUID() } }))).toBe(
      '404 environment_not_found',
    )
    expect(await test.api.session(session.id)).toEqual(session)
  })

  it('accepts null for the environment if none is attached', async () => {
    expect((await patch(await test.api.createSession(), { environment: null })).body.session.environment).toBeNull()
  })
})

describe('archiving a session', () => {
  it('closes it for good, and may be repeated', async () => {
    const session = await test.api.createSession({}, 'a')
    for (const _ of [1, 2]) {
      const answer = await archive(session)
      expect([answer.status, answer.text]).toEqual([204, ''])
    }
    const archived = await test.api.session(session.id)
    expect(archived).toMatchObject({
      phase: 'idle',
      archivedAt: expect.any(String),
      continuation: {
        canContinue: false,
        state: 'unavailable',
        conversation: { fidelity: 'none' },
        workspace: { fidelity: 'none' },
        reason: 'session_archived',
      },
    })
    expect(archived).not.toHaveProperty('activeRunId')
  })

  it('cancels its run, whose end is the last event of the log', async () => {
    const session = await test.api.createSession({}, 'a')
    const runId = session.activeRunId ?? ''
    await worker.attach(session)
    await worker.start(session, runId)
    await archive(session)
    expect(await test.api.run(session.id, runId)).toMatchObject({
      status: 'cancelled',
      cancellationRequested: true,
      stopReason: 'aborted',
    })
    const events = await test.api.events(session.id)
    expect(events.at(-1)).toMatchObject({ type: 'svc.run.cancelled', subject: { runId }, sequence: 2 })
    expect((await test.api.session(session.id)).workspace.state).toBe('expired')
  })

  it('leaves every read and every identical replay unchanged', async () => {
    const turn = { id: randomUUID(), message: 'a' }
    const body = { runtime: 'shell', initialTurn: turn }
    const { session } = (await create(body)).body
    const path = `/v1/sessions/${session.id}`
    await archive(session)
    for (const read of ['', '/turns', '/events', '/fence', `/runs/${session.activeRunId}`]) {
      expect(outcome(await test.api.get(path + read))).toBe('200')
    }
    expect((await create(body, session.id)).status).toBe(200)
    const replay = await test.api.put(`${path}/turns/${turn.id}`, { message: 'a' })
    expect(replay).toMatchObject({ status: 202, body: { created: false, run: { status: 'cancelled' } } })
  })

  it('still tells a changed body from a replay, and refuses every other command', async () => {
    const turn = { id: randomUUID(), message: 'a' }
    const { session } = (await create({ initialTurn: turn })).body
    const path = `/v1/sessions/${session.id}`
    await archive(session)
    expect(outcome(await create({}, session.id))).toBe('409 cloud_session_conflict')
    expect(outcome(await test.api.put(`${path}/turns/${turn.id}`, { message: 'b' }))).toBe('409 cloud_turn_conflict')
    for (const [method, command, sent] of [
      ['PUT', `${path}/turns/${randomUUID()}`, { message: 'a' }],
      ['PATCH', path, { title: 'b' }],
      ['POST', `${path}/runs/${session.activeRunId}/cancel`, undefined],
    ] as const) {
      expect(outcome(await test.api.call(method, command, sent))).toBe('404 cloud_session_not_found')
    }
  })

  it('answers 404 for a session that was never created', async () => {
    expect(outcome(await test.api.call('DELETE', `/v1/sessions/${randomUUID()}`))).toBe('404 cloud_session_not_found')
  })
})

describe('the continuation of a session', () => {
  it('follows its runs and its lease', async () => {
    const session = await test.api.createSession({}, 'a')
    const runId = session.activeRunId ?? ''
    const seen = async () => {
      const { phase, workspace, continuation, activeRunId } = await test.api.session(session.id)
      const { state, canContinue, reason } = continuation
      return { phase, workspace: workspace.state, state, canContinue, reason, active: activeRunId === runId }
    }
    const fresh = { state: 'fresh', canContinue: true, reason: 'no_prior_work', active: true }
    expect(await seen()).toEqual({ phase: 'queued', workspace: 'unavailable', ...fresh })
    await worker.attach(session)
    expect(await seen()).toEqual({ phase: 'queued', workspace: 'attached', ...fresh })
    await worker.start(session, runId)
    const live = { workspace: 'attached', state: 'live', canContinue: true, reason: undefined }
    expect(await seen()).toEqual({ phase: 'running', ...live, active: true })
    await worker.end(session, runId)
    expect(await seen()).toEqual({ phase: 'idle', ...live, active: false })
    await worker.loseSandbox(session)
    expect(await seen()).toEqual({
      phase: 'idle',
      workspace: 'expired',
      state: 'unavailable',
      canContinue: false,
      reason: 'checkpoint_missing',
      active: false,
    })
  })
})
