import { randomUUID } from 'node:crypto'
import { limits, type Run, type Session, type TurnAdmission, type TurnPage } from '@berth/contract'
import { lockSession } from '@berth/core/sessions/session/session-sql.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { outcome, tally } from '@berth/testing/runs/outcome.ts'
import { keyOf, WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let worker: WorkerStandIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  worker = new WorkerStandIn(test.db.database)
})
afterAll(() => test[Symbol.asyncDispose]())

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)))
const create = (id: string, body: object) => test.api.put<{ session: Session }>(`/v1/sessions/${id}`, body)
const submit = (session: Session, message: string, turnId: string = randomUUID()) =>
  test.api.put<TurnAdmission>(`/v1/sessions/${session.id}/turns/${turnId}`, { message })
const cancel = (session: Session) =>
  test.api.call<{ run: Run }>('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
const archive = (session: Session) => test.api.call('DELETE', `/v1/sessions/${session.id}`)
const turnsOf = async (session: Session) =>
  (await test.api.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns

/** Sends two requests at once, alternating which goes first; returns the answers in the order of the arguments. */
async function race<A, B>(n: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  if (n % 2 === 0) return Promise.all([one(), other()])
  const [second, first] = await Promise.all([other(), one()])
  return [first, second]
}

/**
 * Checks the invariants of every Session after any race: a log without gaps, and one terminal Event for each ended Run.
 */
async function expectSound(session: Session): Promise<void> {
  const events = await test.api.events(session.id)
  const { lastEventSequence, activeRunId } = await test.api.session(session.id)
  expect(events.map(event => event.sequence)).toEqual(events.map((_, index) => index + 1))
  expect(events).toHaveLength(lastEventSequence)
  const turns = await turnsOf(session)
  expect(turns.map(turn => turn.sequence)).toEqual(turns.map((_, index) => index))
  const ended = events.filter(event => event.type === 'svc.run.cancelled').map(event => event.subject.runId)
  expect(ended).toEqual(turns.map(turn => turn.runId).filter(runId => runId !== activeRunId))
}

describe('the same request fifty times at once', () => {
  it('creates one session', async () => {
    const id = randomUUID()
    const body = { title: 'a', initialTurn: { id: randomUUID(), message: 'm' } }
    const answers = await times(50, () => create(id, body))
    expect(tally(answers)).toEqual({ 200: 49, 201: 1 })
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(await test.api.events(id)).toHaveLength(1)
  })

  it('admits one turn', async () => {
    const session = await test.api.createSession()
    const turnId = randomUUID()
    const answers = await times(50, () => submit(session, 'm', turnId))
    expect(tally(answers)).toEqual({ 202: 50 })
    expect(answers.filter(answer => answer.body.created)).toHaveLength(1)
    expect(new Set(answers.map(answer => answer.body.run.id)).size).toBe(1)
    await expectSound(session)
  })

  it('cancels a run once', async () => {
    const session = await test.api.createSession({}, 'm')
    const answers = await times(50, () => cancel(session))
    expect(tally(answers)).toEqual({ 200: 50 })
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    await expectSound(session)
  })

  it('archives a session once', async () => {
    const session = await test.api.createSession({}, 'm')
    expect(tally(await times(50, () => archive(session)))).toEqual({ 204: 50 })
    await expectSound(session)
  })
})

describe('two requests that exclude each other', () => {
  it('with one id for two sessions, one wins and the other conflicts', async () => {
    await times(10, async () => {
      const id = randomUUID()
      const answers = await times(2, n => create(id, { title: `t${n}` }))
      expect(tally(answers)).toEqual({ 201: 1, '409 cloud_session_conflict': 1 })
      const won = answers.find(answer => answer.status === 201)?.body.session
      expect(await test.api.session(id)).toEqual(won)
    })
  })

  it('with one id for two turns, one wins and the other conflicts', async () => {
    await times(10, async () => {
      const session = await test.api.createSession()
      const turnId = randomUUID()
      const answers = await times(2, n => submit(session, `m${n}`, turnId))
      expect(tally(answers)).toEqual({ 202: 1, '409 cloud_turn_conflict': 1 })
      const won = answers.find(answer => answer.status === 202)?.body.turn
      expect(await turnsOf(session)).toEqual([won])
    })
  })

  it('with turns of their own, one begins and the others wait', async () => {
    const session = await test.api.createSession()
    const answers = await times(20, n => submit(session, `m${n}`))
    expect(tally(answers)).toEqual({ 202: 1, '409 cloud_run_in_progress': 19 })
    await expectSound(session)
  })

  it('with the last turn of a session, only one is admitted', async () => {
    const session = await test.api.createSession()
    await worker.countTurns(session, limits.turnsPerSession - 1)
    const answers = await times(10, async n => {
      const answer = await submit(session, `m${n}`)
      if (answer.status === 202) await cancel({ ...session, activeRunId: answer.body.run.id })
      return answer
    })
    expect(tally(answers)[202]).toBe(1)
    expect(await turnsOf(session)).toHaveLength(1)
    expect(outcome(await submit(session, 'more'))).toBe('409 cloud_turn_limit_reached')
  })
})

describe('commands that race', () => {
  it('archiving and a turn: the turn is admitted and cancelled, or finds the session closed', async () => {
    const seen = new Set<string>()
    await times(30, async n => {
      const session = await test.api.createSession()
      const [archived, turn] = await race(
        n,
        () => archive(session),
        () => submit(session, 'm'),
      )
      expect(archived.status).toBe(204)
      seen.add(outcome(turn))
      const after = await test.api.session(session.id)
      expect(after).toMatchObject({ phase: 'idle', archivedAt: expect.any(String) })
      expect(await turnsOf(session)).toHaveLength(turn.status === 202 ? 1 : 0)
      await expectSound(session)
    })
    expect(seen.isSubsetOf(new Set(['202', '404 cloud_session_not_found']))).toBe(true)
  })

  it('cancelling and the next turn: the run ends once, and at most one follows it', async () => {
    const seen = new Set<string>()
    await times(30, async n => {
      const session = await test.api.createSession({}, 'm')
      const [cancelled, turn] = await race(
        n,
        () => cancel(session),
        () => submit(session, 'next'),
      )
      expect(cancelled.body.run.status).toBe('cancelled')
      seen.add(outcome(turn))
      const { activeRunId } = await test.api.session(session.id)
      expect(activeRunId).toBe(turn.status === 202 ? turn.body.run.id : undefined)
      await expectSound(session)
    })
    expect(seen.isSubsetOf(new Set(['202', '409 cloud_run_in_progress']))).toBe(true)
  })

  it('changes of one session: each is applied whole, and the last one stays', async () => {
    const session = await test.api.createSession()
    const answers = await times(20, n =>
      test.api.call<{ session: Session }>('PATCH', `/v1/sessions/${session.id}`, { title: `t${n}` }),
    )
    expect(answers.map(answer => answer.body.session?.title)).toEqual(answers.map((_, n) => `t${n}`))
    const { title } = await test.api.session(session.id)
    expect(answers.map(answer => answer.body.session.title)).toContain(title)
  })

  it('a change of runtime and the first turn: the turn runs on the runtime that the session shows', async () => {
    await times(20, async () => {
      const session = await test.api.createSession()
      const [turn] = await Promise.all([
        submit(session, 'm'),
        test.api.call('PATCH', `/v1/sessions/${session.id}`, { runtime: 'shell' }),
      ])
      expect((await test.api.session(session.id)).runtime).toBe(turn.body.turn.runtime)
    })
  })

  it('a command and the first claim of its run: the claim does not wait for the command', async () => {
    const session = await test.api.createSession({}, 'm')
    const claimed = await test.db.database.transaction(async tx => {
      await lockSession(tx, keyOf(session))
      const claims = await claimQueued(test.db.database, { holder: 'w', hosts: ['nowhere'], now: new Date() }, 100)
      return claims.map(claim => claim.sessionId)
    })
    expect(claimed).toContain(session.id)
  })
})
