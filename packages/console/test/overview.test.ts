import { randomUUID } from 'node:crypto'
import type { Session, SessionCost } from '@berth/contract'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { noUsage } from '@berth/core/accounting/upstream.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let writer: LogWriter
let api: Api
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  writer = await LogWriter.open(accounts.test.db)
  api = (await accounts.person({})).api
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const keyOf = ({ organizationId, id }: Session) => ({ organizationId, sessionId: id })

describe('the overview of a Session', () => {
  it('has the Session, its active Run and the last hundred Events as they were stored', async () => {
    const session = await api.createSession({ title: 'to look at' }, 'a')
    await writer.append(keyOf(session), 120, { text: 'ü \u2028 </script>' })
    const { body, text } = await api.get(`/cloud/sessions/${session.id}/overview`)
    expect(body).toMatchObject({
      session: { id: session.id, title: 'to look at', lastEventSequence: 121 },
      state: { id: session.id, phase: 'queued', unread: true },
      run: { id: session.activeRunId, status: 'queued' },
      interactions: [],
      publications: [],
      merges: [],
      lastSequence: 121,
    })
    const stored = await storedLog(accounts.test.db, keyOf(session))
    const envelopes = stored.slice(-100).map(({ envelope }) => envelope)
    expect(text).toContain(`"events":[${envelopes.join(',')}]`)
  })

  it('is there before anything has happened', async () => {
    const session = await api.createSession()
    expect((await api.get(`/cloud/sessions/${session.id}/overview`)).body).toMatchObject({
      run: null,
      events: [],
      lastSequence: 0,
    })
  })

  it('is not for another organization, nor for an installation', async () => {
    const session = await api.createSession()
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const path = `/cloud/sessions/${session.id}/overview`
    expect(outcome(await stranger.api.get(path))).toBe('404 cloud_session_not_found')
    expect(outcome(await accounts.test.api.get(path))).toBe('401 invalid_or_expired_credential')
  })
})

const noStart = { queueMs: 0, sandboxMs: 0, agentStartMs: 0 }
const noTime = { modelMs: 0, peopleMs: 0, toolsMs: 0, platformMs: 0, ...noStart, sealMs: 0 }

describe('the cost of a Session', () => {
  it('counts what its active Run has spent, beside what a Run may spend', async () => {
    const db = accounts.test.db.database
    const { tenant, api: theirs } = await accounts.test.newTenant()
    const { organizationId } = tenant
    const person = await accounts.person({ organizationId })
    const session = await person.api.createSession({}, 'a')
    const path = `/cloud/sessions/${session.id}/cost`
    expect((await person.api.get(path)).body).toEqual({
      costUsd: 0,
      costComplete: true,
      usage: noUsage,
      time: noTime,
      run: { costUsd: 0, limitUsd: null },
      near: [],
    })
    const [sessionId, runId = ''] = [session.id, session.activeRunId]
    const at = new Date().toISOString()
    await spend(db, { organizationId, sessionId, runId, at, costUsd: 0.25 })
    await db.query('insert into organization_limits (organization_id, own_cost_usd) values ($1, 5)', [organizationId])
    const usage = {
      inputTokens: 100,
      cachedInputTokens: 40,
      cacheWriteTokens: 20,
      outputTokens: 10,
      reasoningTokens: 4,
    }
    const run = { costUsd: 0.25, limitUsd: 5 }
    expect((await person.api.get(path)).body).toMatchObject({ costUsd: 0.25, usage, cacheHitRatio: 0.4, run })
    // Whoever it holds sees that a budget is mostly spent, whichever Session spent it.
    for (const [personId, limitUsd] of [
      [undefined, 0.3],
      [person.who.personId, 0.32],
    ] as const) {
      const quota = { organizationId, period: 'month', limitUsd, ...(personId !== undefined && { personId }) } as const
      await setQuotaOf(db, quota, new Date())
    }
    const near = [{ scope: 'organization', spentUsd: 0.25, limitUsd: 0.3 }]
    expect((await person.api.get(path)).body).toMatchObject({ near })
    // What a person may spend is for that person and administrators.
    await db.query('update gateway_budgets set spent_usd = 0.3 where person_id = $1', [person.who.personId])
    const amounts = { spentUsd: 0.3, limitUsd: 0.32 }
    for (const [{ api: reader }, shown] of [
      [person, amounts],
      [await accounts.person({ organizationId, role: 'admin' }), amounts],
      [await accounts.person({ organizationId, role: 'member' }), {}],
    ] as const) {
      const { body } = await reader.get<SessionCost>(path)
      expect(body.near).toEqual([{ scope: 'person', ...shown }, ...near])
    }
    await spend(db, { organizationId, sessionId, runId, at, costUsd: null })
    expect((await person.api.get(path)).body).toMatchObject({ costUsd: 0.25, costComplete: false })
    expect(outcome(await api.get(path))).toBe('404 cloud_session_not_found')
    expect(outcome(await theirs.get(path))).toBe('401 invalid_or_expired_credential')
  })

  it('is that of its Runs once they have ended', async () => {
    const session = await api.createSession({}, 'a')
    const time = { ...noTime, modelMs: 70_000, sealMs: 4_000 }
    await accounts.test.db.database.query(
      `update runs set status = 'completed', ended_at = now(), cost_usd = 1.5, cost_complete = true, usage = $2, time = $3 where id = $1`,
      [session.activeRunId, { ...noUsage, inputTokens: 8, cachedInputTokens: 6 }, time],
    )
    expect((await api.get(`/cloud/sessions/${session.id}/cost`)).body).toEqual({
      costUsd: 1.5,
      costComplete: true,
      usage: { ...noUsage, inputTokens: 8, cachedInputTokens: 6 },
      cacheHitRatio: 0.75,
      time,
      run: null,
      near: [],
    })
  })
})

describe('the place of a Session', () => {
  it('is told of the organizations of the person alone', async () => {
    const db = accounts.test.db.database
    const { organizationId } = accounts.test.tenant
    const person = await personWithPassword(db, organizationId)
    const page = new ConsolePage(accounts.test.url, organizationId)
    await page.signIn(person)
    const { tenant, api: theirs } = await accounts.test.newTenant()
    const elsewhere = await theirs.createSession()
    const own = await api.createSession()
    const placesOf = async ({ id }: Session) =>
      (await page.get(`/cloud/session-locations/${id}`)).body['organizationIds']
    expect(await placesOf(own)).toEqual([organizationId])
    expect(await placesOf(elsewhere)).toEqual([])
    await db.query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', now())`,
      [randomUUID(), tenant.organizationId, person.personId],
    )
    expect(await placesOf(elsewhere)).toEqual([tenant.organizationId])
    await db.query('update memberships set revoked_at = now() where organization_id = $1', [tenant.organizationId])
    expect(await placesOf(elsewhere)).toEqual([])
  })

  it('is for browsers: a token is of one organization', async () => {
    expect(outcome(await api.get(`/cloud/session-locations/${randomUUID()}`))).toBe('401 invalid_or_expired_credential')
  })
})
