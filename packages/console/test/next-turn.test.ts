import { randomUUID } from 'node:crypto'
import type { NextTurn, Session, Turn } from '@berth/contract'
import { NextTurnAdmitter } from '@berth/server/console/next-turns/next-turn-admitter.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let own: Awaited<ReturnType<Accounts['person']>>
let colleague: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = await startAccounts()
  own = await accounts.person({})
  colleague = await accounts.person({})
})
afterAll(() => accounts[Symbol.asyncDispose]())

type Answer = { nextTurn: NextTurn | null; error?: string }

const path = ({ id }: Session) => `/cloud/sessions/${id}/next-turn`
const read = async (session: Session) => (await own.api.get<Answer>(path(session))).body.nextTurn
const leave = (
  session: Session,
  message: string,
  { turnId = randomUUID(), api = own.api, replaces }: { turnId?: string; api?: Api; replaces?: string } = {},
) => api.put<Answer>(path(session), { turnId, message, ...(replaces !== undefined && { replaces }) })
const turns = async (session: Session) =>
  (await own.api.get<{ turns: Turn[] }>(`/v1/sessions/${session.id}/turns`)).body.turns
const cancel = ({ id, activeRunId }: Session) => own.api.call('POST', `/v1/sessions/${id}/runs/${activeRunId}/cancel`)
/** A Session with a Run that no worker begins. */
const working = () => own.api.createSession({}, 'first')

describe('the message that waits', () => {
  it('names who wrote it, and becomes a Turn of theirs when the Run ends', async () => {
    const session = await working()
    expect(await read(session)).toBeNull()
    const turnId = randomUUID()
    const { body } = await leave(session, 'then this', { turnId })
    const writtenBy = { id: own.who.personId, name: expect.any(String) }
    expect(body.nextTurn).toMatchObject({ turnId, message: 'then this', refused: null, writtenBy })
    expect(await read(session)).toEqual(body.nextTurn)
    expect((await own.api.get<Answer>(`/cloud/sessions/${session.id}/overview`)).body.nextTurn).toEqual(body.nextTurn)
    expect(await turns(session)).toHaveLength(1)
    await cancel(session)
    await until('the Turn', async () => (await turns(session)).length === 2)
    expect((await turns(session))[1]).toMatchObject({
      id: turnId,
      message: 'then this',
      createdBy: { kind: 'person', id: own.who.personId },
    })
    expect(await read(session)).toBeNull()
    // The answer to the first request was lost: the second neither waits nor becomes another Turn.
    expect((await leave(session, 'then this', { turnId })).body).toEqual({ nextTurn: null })
    expect(outcome(await leave(session, 'another', { turnId }))).toBe('409 cloud_turn_conflict')
    expect(await turns(session)).toHaveLength(2)
  })

  it('becomes a Turn at once if no Run is active any more', async () => {
    const session = await own.api.createSession()
    await leave(session, 'now')
    await until('the Turn', async () => (await turns(session)).length === 1)
  })

  it('can be replaced by its author, and taken back by anybody, who gets the text', async () => {
    const session = await working()
    const [one, two] = [randomUUID(), randomUUID()]
    expect(outcome(await leave(session, 'none', { replaces: one }))).toBe('409 cloud_next_turn_conflict')
    await leave(session, 'one', { turnId: one })
    // Another device of the same person, which has not seen it.
    expect(outcome(await leave(session, 'unseen'))).toBe('409 cloud_next_turn_conflict')
    expect((await leave(session, 'two', { turnId: two, replaces: one })).body.nextTurn?.message).toBe('two')
    // The answer was lost.
    expect((await leave(session, 'two', { turnId: two, replaces: one })).status).toBe(200)
    for (const more of [{}, { replaces: two }]) {
      const answer = await leave(session, 'mine', { api: colleague.api, ...more })
      expect(outcome(answer)).toBe('409 cloud_next_turn_conflict')
    }
    expect(await read(session)).toMatchObject({ message: 'two' })
    expect((await colleague.api.call<Answer>('DELETE', path(session))).body.nextTurn?.message).toBe('two')
    expect((await own.api.call<Answer>('DELETE', path(session))).body).toEqual({ nextTurn: null })
    expect((await leave(session, 'mine', { api: colleague.api })).status).toBe(200)
  })

  it('comes back with the reason if its Turn is refused', async () => {
    const session = await working()
    await leave(session, 'too late')
    await own.api.call('DELETE', `/v1/sessions/${session.id}`)
    await until('the refusal', async () => (await read(session))?.refused === 'cloud_session_not_found')
    expect(await read(session)).toMatchObject({ message: 'too late' })
    expect(outcome(await leave(session, 'again'))).toBe('404 cloud_session_not_found')
    expect((await colleague.api.call<Answer>('DELETE', path(session))).body.nextTurn?.message).toBe('too late')
  })

  it('begins no Run of a person who has left', async () => {
    const leaver = await accounts.person({})
    const session = await working()
    await leave(session, 'bye', { api: leaver.api })
    await accounts.test.db.database.query('update memberships set revoked_at = now() where person_id = $1', [
      leaver.who.personId,
    ])
    await cancel(session)
    await until('the refusal', async () => (await read(session))?.refused === 'insufficient_scope')
    expect(await turns(session)).toHaveLength(1)
    // Its text goes only once somebody has seen it.
    expect(outcome(await leave(session, 'mine'))).toBe('409 cloud_next_turn_conflict')
    const refused = await read(session)
    expect((await leave(session, 'mine', { replaces: refused?.turnId ?? '' })).status).toBe(200)
  })

  it('becomes one Turn, however many processes look', async () => {
    await using stack = new AsyncDisposableStack()
    const context = await workerContext(accounts.test, stack)
    const admitters = Array.from({ length: 4 }, () => new NextTurnAdmitter(context))
    for (let round = 0; round < 5; round++) {
      const session = await working()
      await leave(session, 'once')
      await cancel(session)
      await Promise.all(admitters.map(admitter => admitter.round()))
      await until('the Turn', async () => (await turns(session)).length === 2)
      expect(await read(session)).toBeNull()
    }
  })

  it('is not for people of another organization', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const session = await working()
    await leave(session, 'mine')
    for (const answer of [
      await stranger.api.get(path(session)),
      await leave(session, 'theirs', { api: stranger.api }),
      await stranger.api.call('DELETE', path(session)),
    ]) {
      expect(outcome(answer)).toBe('404 cloud_session_not_found')
    }
    expect(await read(session)).toMatchObject({ message: 'mine' })
  })

  it('refuses an empty message and one that is too long', async () => {
    const session = await working()
    expect(outcome(await leave(session, ''))).toBe('400 invalid_request')
    expect(outcome(await leave(session, 'x'.repeat(100_001)))).toBe('400 invalid_request')
  })
})
