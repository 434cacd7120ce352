import { createHash, randomUUID } from 'node:crypto'
import { limits, type Session, type TurnAdmission, type TurnPage } from '@berth/contract'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { listSteering, markSteered } from '@berth/core/sessions/turns/turn-sql.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { executionLost, settleLoss } from '@berth/worker/claim/finish.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let worker: WorkerStandIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  worker = new WorkerStandIn(test.db.database)
})
afterAll(() => test[Symbol.asyncDispose]())

const submit = (session: Session, body: object, id: string = randomUUID()) =>
  test.api.put<TurnAdmission>(`/v1/sessions/${session.id}/turns/${id}`, body)
const cancel = (session: Session, runId: string) =>
  test.api.call('POST', `/v1/sessions/${session.id}/runs/${runId}/cancel`)
const archive = (session: Session) => test.api.call('DELETE', `/v1/sessions/${session.id}`)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Admits a Turn whose Run ends at once. */
async function endedTurn(session: Session, body: object, id?: string): Promise<TurnAdmission> {
  const { body: admission } = await submit(session, body, id)
  await cancel(session, admission.run.id)
  return admission
}

describe('admitting a turn', () => {
  it('answers 202 with the turn and its queued run', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const turnId = randomUUID()
    const answer = await submit(session, { message: ' as it is\n' }, turnId)
    const { id: runId } = answer.body.run
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        created: true,
        turn: {
          id: turnId,
          sessionId: session.id,
          runId,
          sequence: 0,
          message: ' as it is\n',
          files: [],
          runtime: 'shell',
          createdBy: { kind: 'app_installation', id: test.tenant.installationId },
          createdAt: expect.any(String),
        },
        run: {
          id: runId,
          sessionId: session.id,
          turnId,
          status: 'queued',
          cancellationRequested: false,
          attempts: 0,
          queuedAt: answer.body.turn.createdAt,
        },
      },
    ])
    expect(await test.api.session(session.id)).toMatchObject({ activeRunId: runId, phase: 'queued' })
  })

  it('writes the message into the log', async () => {
    const session = await test.api.createSession()
    const { turn, run } = await test.api.submitTurn(session.id, 'täglich')
    expect(await test.api.events(session.id)).toMatchObject([
      {
        sequence: 1,
        type: 'svc.message.created',
        visibility: 'transcript',
        subject: { sessionId: session.id, runId: run.id },
        data: { role: 'user', text: 'täglich', turnId: turn.id },
      },
    ])
  })

  it('truncates the message in the log but not in the turn', async () => {
    const session = await test.api.createSession()
    const message = `${'a'.repeat(limits.eventTextBytes - 1)}é and more`
    const { turn } = await test.api.submitTurn(session.id, message)
    expect(turn.message).toBe(message)
    const [event] = await test.api.events(session.id)
    expect(event?.data).toMatchObject({ text: 'a'.repeat(limits.eventTextBytes - 1), truncated: true })
  })

  it('refuses model and runtime, which belong to the session', async () => {
    const session = await test.api.createSession()
    const answer = await submit(session, { message: 'a', model: 'm', runtime: 'shell' })
    expect(refusedFields(answer)).toBe('400 invalid_request model runtime')
  })
})

describe('a repeated turn', () => {
  it('answers 202 with the current state of the first', async () => {
    const session = await test.api.createSession()
    const turnId = randomUUID()
    const first = await submit(session, { message: 'a' }, turnId)
    expect((await submit(session, { message: 'a' }, turnId)).body).toEqual({ ...first.body, created: false })
    await cancel(session, first.body.run.id)
    const later = await submit(session, { message: 'a' }, turnId)
    expect([later.status, later.body.created, later.body.run.status]).toEqual([202, false, 'cancelled'])
    expect((await test.api.session(session.id)).lastEventSequence).toBe(2)
  })

  it('is recognised by its message, its answer and the bytes of its files', async () => {
    const session = await test.api.createSession()
    const turnId = randomUUID()
    const files = [
      { name: 'a', content: base64('1') },
      { name: 'b', content: base64('2') },
    ]
    const { turn } = await endedTurn(session, { message: 'a', files }, turnId)
    const renamed = [
      { name: 'x', mediaType: 'text/plain', content: base64('1') },
      { name: 'y', content: base64('2') },
    ]
    const replay = await submit(session, { message: 'a', files: renamed }, turnId)
    expect([replay.status, replay.body.created, replay.body.turn]).toEqual([202, false, turn])
    for (const [what, body] of Object.entries({
      message: { message: 'b', files },
      reply: { message: 'a', files, replyTo: { interactionId: 'i' } },
      order: { message: 'a', files: files.toReversed() },
      bytes: { message: 'a', files: [{ name: 'a', content: base64('3') }, files[1]] },
      fewer: { message: 'a', files: files.slice(1) },
      none: { message: 'a' },
    })) {
      expect(`${what} ${outcome(await submit(session, body, turnId))}`).toBe(`${what} 409 cloud_turn_conflict`)
    }
  })

  it('takes an empty list of files for no files', async () => {
    const session = await test.api.createSession()
    const { turn } = await endedTurn(session, { message: 'a' })
    expect((await submit(session, { message: 'a', files: [] }, turn.id)).body.created).toBe(false)
  })

  it('is a different turn in another session', async () => {
    const turnId = randomUUID()
    for (const message of ['a', 'b']) {
      const answer = await submit(await test.api.createSession(), { message }, turnId)
      expect([answer.status, answer.body.created, answer.body.turn.message]).toEqual([202, true, message])
    }
  })
})

describe('an output', () => {
  const output = { schema: { type: 'object', properties: { a: { const: null } } } }

  it('is shown with its turn, and is no part of what makes two turns the same', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const id = randomUUID()
    const { turn } = await endedTurn(session, { message: 'a', output }, id)
    expect(turn.output).toEqual(output)
    for (const other of [{ output }, {}, { output: { schema: {} } }, { mode: 'steer' }]) {
      expect((await submit(session, { message: 'a', ...other }, id)).body).toMatchObject({
        created: false,
        turn: { output },
      })
    }
    expect(outcome(await submit(session, { message: 'b', output }, id))).toBe('409 cloud_turn_conflict')
  })

  it('may be asked for by the first turn of a session', async () => {
    const id = randomUUID()
    const create = (schema: object) =>
      test.api.put(`/v1/sessions/${id}`, {
        runtime: 'shell',
        initialTurn: { id, message: 'a', output: { schema } },
      })
    expect(outcome(await create({ $ref: 'http://127.0.0.1/a' }))).toBe('400 invalid_request')
    expect((await create(output.schema)).status).toBe(201)
    expect((await create(output.schema)).status).toBe(200)
    expect(outcome(await create({ type: 'object', properties: { a: {} } }))).toBe('409 cloud_session_conflict')
    expect((await test.api.get<TurnPage>(`/v1/sessions/${id}/turns`)).body.turns).toMatchObject([{ output }])
  })

  it.each([
    ['output.schema', { schema: [] }],
    ['output.schema', {}],
    ['output.strict', { schema: {}, strict: true }],
    ['output.schema.properties.a.pattern', { schema: { properties: { a: { pattern: '^(?!a)' } } } }],
    ['output.schema.items.$ref', { schema: { items: { $ref: 'https://example.com/a.json' } } }],
  ])('that cannot be had is refused at %s', async (path, refused) => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const answer = await submit(session, { message: 'a', output: refused })
    expect(refusedFields(answer)).toBe(`400 invalid_request ${path}`)
  })

  it('does not belong to an answer', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const answer = await submit(session, { message: 'a', output, replyTo: { interactionId: 'x' } })
    expect(refusedFields(answer)).toBe('400 invalid_request output')
  })
})

describe('a message for the agent at work', () => {
  const steer = (session: Session, message: string, id?: string) => submit(session, { message, mode: 'steer' }, id)
  const turnsOf = async (session: Session) =>
    (await test.api.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns
  const steeredOf = async (session: Session) =>
    (await test.api.events(session.id)).flatMap(({ type, subject, data }) =>
      type === 'svc.turn.steered' ? [{ runId: subject.runId, ...data }] : [],
    )

  it('joins the active run, and is the same turn when it is repeated', async () => {
    const session = await test.api.createSession({}, 'a')
    const id = randomUUID()
    const answer = await steer(session, 'rather b', id)
    expect([answer.status, answer.body.run.id]).toEqual([202, session.activeRunId])
    expect(answer.body.turn).toMatchObject({ sequence: 1, runId: session.activeRunId, steering: 'waiting' })
    expect((await steer(session, 'rather b', id)).body).toEqual({ ...answer.body, created: false })
    expect((await submit(session, { message: 'rather b' }, id)).body).toEqual({ ...answer.body, created: false })
    expect((await test.api.events(session.id)).at(-1)?.data).toMatchObject({
      role: 'user',
      text: 'rather b',
      turnId: id,
    })
  })

  it('begins a run if none is active', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const { run, turn } = (await steer(session, 'true')).body
    expect([run.status, run.turnId, turn.steering]).toEqual(['queued', turn.id, undefined])
  })

  it('is refused if the agent takes none, and stores nothing', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'true')
    expect(outcome(await steer(session, 'false'))).toBe('409 cloud_steering_unsupported')
    expect(await turnsOf(session)).toHaveLength(1)
  })

  it('is neither an answer nor asks for an output', async () => {
    const session = await test.api.createSession({}, 'a')
    const steering = { message: 'b', mode: 'steer' }
    const answer = await submit(session, { ...steering, replyTo: { interactionId: 'x' } })
    expect(refusedFields(answer)).toBe('400 invalid_request mode')
    expect(refusedFields(await submit(session, { ...steering, output: { schema: { type: 'object' } } }))).toBe(
      '400 invalid_request output',
    )
    expect(refusedFields(await submit(session, { message: 'b', mode: 'shout' }))).toBe('400 invalid_request mode')
  })

  it('is refused with the run that is being cancelled, in another tenant, and in an archived session', async () => {
    const session = await test.api.createSession({}, 'a')
    const { api: other } = await test.newTenant()
    const path = `/v1/sessions/${session.id}/turns/${randomUUID()}`
    expect(outcome(await other.put(path, { message: 'b', mode: 'steer' }))).toBe('404 cloud_session_not_found')
    await test.db.database.query("update runs set status = 'running' where id = $1", [session.activeRunId])
    await cancel(session, session.activeRunId ?? '')
    expect(outcome(await steer(session, 'b'))).toBe('409 cloud_run_in_progress')
    await archive(session)
    expect(outcome(await steer(session, 'b'))).toBe('404 cloud_session_not_found')
  })

  it.each([['completed'], ['failed']] as const)(
    'that came too late for a run that %s begins the next one',
    async status => {
      const session = await test.api.createSession({}, 'a')
      const { activeRunId = '' } = session
      await worker.start(session, activeRunId)
      const first = (await steer(session, 'first')).body.turn
      const second = (await steer(session, 'second')).body.turn
      await worker.end(session, activeRunId, { status })
      const next = (await test.api.session(session.id)).activeRunId
      expect(next).not.toBe(activeRunId)
      expect(await test.api.run(session.id, next ?? '')).toMatchObject({ status: 'queued', turnId: first.id })
      expect((await turnsOf(session)).slice(1)).toMatchObject([
        { runId: next, steering: 'missed' },
        { runId: next, steering: 'waiting' },
      ])
      const missed = { runId: activeRunId, status: 'missed', nextRunId: next }
      expect(await steeredOf(session)).toEqual([
        { ...missed, turnId: first.id },
        { ...missed, turnId: second.id },
      ])
      expect((await test.api.events(session.id)).at(-1)?.type).toBe(`svc.run.${status}`)
    },
  )

  it('that the agent of a lost attempt had is given to the next attempt', async () => {
    const session = await test.api.createSession({}, 'a')
    const { organizationId, id: sessionId, activeRunId: runId = '' } = session
    const key = { organizationId, sessionId }
    await worker.start(session, runId)
    const { turn } = (await steer(session, 'b')).body
    const { database } = test.db
    await markSteered(database, key, runId, [turn.id])
    expect((await turnsOf(session)).at(-1)).toMatchObject({ steering: 'taken' })
    const run = await findRun(database, key, runId)
    if (run === null) throw new Error('there is no such run')
    const claim = { ...key, runId, run, token: 1, holder: 'nobody', revoked: false }
    const context = { clock: systemClock, limits: { maxAttempts: 3 } } as ExecutionContext
    await database.transaction(tx => settleLoss(tx, context, claim, { sandboxLost: false, outcome: executionLost }))
    expect(await test.api.run(sessionId, runId)).toMatchObject({ status: 'queued' })
    expect(await listSteering(database, key, runId)).toMatchObject([{ id: turn.id, steering: 'waiting' }])
  })

  it.each([['cancelled'], ['crashed']] as const)(
    'that came too late for a run that %s is told as missed',
    async status => {
      const session = await test.api.createSession({}, 'a')
      const { activeRunId = '' } = session
      await worker.start(session, activeRunId)
      const { turn } = (await steer(session, 'b')).body
      await worker.end(session, activeRunId, { status })
      expect((await test.api.session(session.id)).activeRunId).toBeUndefined()
      expect(await steeredOf(session)).toEqual([{ runId: activeRunId, turnId: turn.id, status: 'missed' }])
      expect((await turnsOf(session)).at(-1)).toMatchObject({ runId: activeRunId, steering: 'missed' })
    },
  )
})

describe('files', () => {
  it('are stored byte for byte with their names and types', async () => {
    const session = await test.api.createSession()
    const files = [
      { name: 'note.txt', mediaType: 'text/plain; charset=utf-8', content: base64('hällo') },
      { name: '.empty', content: '' },
    ]
    const { body } = await submit(session, { message: 'a', files })
    expect(body.turn.files).toEqual([
      { name: 'note.txt', mediaType: 'text/plain; charset=utf-8', sizeBytes: 6, sha256: sha256('hällo') },
      { name: '.empty', mediaType: 'application/octet-stream', sizeBytes: 0, sha256: sha256('') },
    ])
  })

  it.each(['a', 'YQ', 'YQ=', 'Y Q==', 'YR==', '-_-_', 'YQ==YQ=='])('must be base64, unlike %j', async content => {
    const answer = await submit(await test.api.createSession(), { message: 'a', files: [{ name: 'a', content }] })
    expect(refusedFields(answer)).toBe('400 invalid_request files.0.content')
  })

  it.each(['', '.', '..', 'a/b', '/', '\0', 'é'.repeat(256)])('must have a plain file name, unlike %j', async name => {
    const answer = await submit(await test.api.createSession(), { message: 'a', files: [{ name, content: '' }] })
    expect(refusedFields(answer)).toBe('400 invalid_request files.0.name')
  })

  it('may be those of an earlier turn, by their hash', async () => {
    const session = await test.api.createSession()
    const note = { name: 'note.txt', mediaType: 'text/plain', sizeBytes: 1, sha256: sha256('1') }
    await endedTurn(session, {
      message: 'a',
      files: [{ ...note, sizeBytes: undefined, sha256: undefined, content: base64('1') }],
    })
    const files = [{ name: 'again.txt', sha256: note.sha256 }]
    const { turn } = await endedTurn(session, { message: 'a', files })
    expect(turn.files).toEqual([{ ...note, name: 'again.txt' }])
    expect((await submit(session, { message: 'a', files }, turn.id)).body.created).toBe(false)
    const elsewhere = await submit(await test.api.createSession(), { message: 'a', files })
    expect(refusedFields(elsewhere)).toBe('400 invalid_request files.0.sha256')
  })

  it.each([{}, { content: '', sha256: sha256('') }])('has either bytes or a hash, unlike %j', async content => {
    const answer = await submit(await test.api.createSession(), { message: 'a', files: [{ name: 'a', ...content }] })
    expect(refusedFields(answer)).toBe('400 invalid_request files.0.content')
  })

  it('share one directory, so no two have the same name', async () => {
    const files = [
      { name: 'a', content: '' },
      { name: 'b', content: '' },
      { name: 'a', content: base64('1') },
    ]
    const answer = await submit(await test.api.createSession(), { message: 'a', files })
    expect(refusedFields(answer)).toBe('400 invalid_request files.2.name')
  })
})

describe('the order of admission', () => {
  /** Makes a Session whose Run has begun in a sandbox that is then lost. */
  async function sessionThatCannotGoOn(): Promise<Session> {
    const session = await test.api.createSession({}, 'a')
    await worker.start(session, session.activeRunId ?? '')
    await worker.end(session, session.activeRunId ?? '')
    return session
  }

  const reply = { message: 'a', replyTo: { interactionId: 'unknown' } }

  it('puts a replay before every other check', async () => {
    const session = await test.api.createSession()
    const { turn, run } = (await submit(session, { message: 'a' })).body
    const replay = async () => (await submit(session, { message: 'a' }, turn.id)).body.created
    const change = async () => outcome(await submit(session, { message: 'b' }, turn.id))
    const active = [await replay(), await change()]
    await worker.start(session, run.id)
    await worker.end(session, run.id)
    const unavailable = [await replay(), await change()]
    await worker.countTurns(session, limits.turnsPerSession)
    const full = [await replay(), await change()]
    await archive(session)
    const archived = [await replay(), await change()]
    const both = [false, '409 cloud_turn_conflict']
    expect({ active, unavailable, full, archived }).toEqual({
      active: both,
      unavailable: both,
      full: both,
      archived: both,
    })
  })

  it('checks the archived session before its continuation', async () => {
    const session = await sessionThatCannotGoOn()
    await archive(session)
    expect(outcome(await submit(session, { message: 'a' }))).toBe('404 cloud_session_not_found')
  })

  it('checks the lost workspace before the interaction and the limit', async () => {
    const session = await sessionThatCannotGoOn()
    expect((await test.api.session(session.id)).continuation.canContinue).toBe(false)
    await worker.countTurns(session, limits.turnsPerSession)
    expect(outcome(await submit(session, reply))).toBe('409 cloud_resume_unavailable')
  })

  it('checks the interaction before the active run', async () => {
    const session = await test.api.createSession({}, 'a')
    expect(outcome(await submit(session, reply))).toBe('404 cloud_session_not_found')
  })

  it('checks the active run before the limit, and says when to retry', async () => {
    const session = await test.api.createSession({}, 'a')
    await worker.countTurns(session, limits.turnsPerSession)
    for (const begin of [async () => {}, () => worker.start(session, session.activeRunId ?? '')]) {
      await begin()
      const answer = await submit(session, { message: 'a' })
      expect([outcome(answer), answer.headers.get('retry-after'), answer.text]).toEqual([
        '409 cloud_run_in_progress',
        '2',
        '{"error":"cloud_run_in_progress"}',
      ])
    }
  })

  it('admits the thousandth turn, no further one, and every replay', async () => {
    const session = await test.api.createSession()
    await worker.countTurns(session, limits.turnsPerSession - 1)
    const { turn } = await endedTurn(session, { message: 'last' })
    expect(turn.sequence).toBe(999)
    expect(outcome(await submit(session, { message: 'more' }))).toBe('409 cloud_turn_limit_reached')
    expect((await submit(session, { message: 'last' }, turn.id)).body.created).toBe(false)
    expect((await test.api.session(session.id)).lastEventSequence).toBe(2)
  })

  it('stores nothing of a refused turn', async () => {
    const session = await test.api.createSession({}, 'a')
    const before = await test.api.session(session.id)
    await submit(session, { message: 'b' })
    expect(await test.api.session(session.id)).toEqual(before)
    expect(await test.api.events(session.id)).toHaveLength(1)
  })
})

describe('the list of turns', () => {
  const page = async (session: Session, query = '') =>
    (await test.api.get<TurnPage>(`/v1/sessions/${session.id}/turns${query}`)).body

  async function sessionWith(count: number): Promise<Session> {
    const session = await test.api.createSession()
    for (let n = 0; n < count; n += 1) await endedTurn(session, { message: `m${n}` })
    return session
  }

  it('is in the order of admission, page by page', async () => {
    const session = await sessionWith(3)
    const messages = async (query?: string) => {
      const { turns, nextAfter, hasMore } = await page(session, query)
      return { messages: turns.map(turn => turn.message).join(' '), nextAfter, hasMore }
    }
    expect(await messages()).toEqual({ messages: 'm0 m1 m2', nextAfter: 2, hasMore: false })
    expect(await messages('?limit=2')).toEqual({ messages: 'm0 m1', nextAfter: 1, hasMore: true })
    expect(await messages('?limit=2&after=1')).toEqual({ messages: 'm2', nextAfter: 2, hasMore: false })
    expect(await messages('?after=-1&limit=1')).toEqual({ messages: 'm0', nextAfter: 0, hasMore: true })
    expect(await messages('?after=2')).toEqual({ messages: '', nextAfter: 2, hasMore: false })
  })

  it('is empty before the first', async () => {
    const session = await test.api.createSession()
    expect(await page(session)).toEqual({ turns: [], nextAfter: -1, hasMore: false })
  })

  it('holds each turn as its admission returned it', async () => {
    const session = await test.api.createSession()
    const files = [{ name: 'a', content: base64('1') }]
    const { turn } = (await submit(session, { message: 'a', files })).body
    expect((await page(session)).turns).toEqual([turn])
  })

  it.each(['2147483647', '2147483648', '9'.repeat(30)])('is empty beyond its end: after %s', async after => {
    const answer = await test.api.get<TurnPage>(`/v1/sessions/${(await sessionWith(1)).id}/turns?after=${after}`)
    expect([answer.status, answer.body.turns, answer.body.hasMore]).toEqual([200, [], false])
  })

  it.each(['limit=0', 'limit=101', 'limit=x', 'after=-2', 'after=x', 'after=1.5', 'before=1'])(
    'refuses %s',
    async query => {
      const answer = await test.api.get(`/v1/sessions/${(await test.api.createSession()).id}/turns?${query}`)
      expect(refusedFields(answer)).toBe(`400 invalid_request ${query.split('=')[0]}`)
    },
  )
})
