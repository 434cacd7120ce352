import { randomUUID } from 'node:crypto'
import type { Interaction, Session, SessionCost } from '@berth/contract'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { askForBudget, resumeWithinBudgets } from '@berth/core/sessions/interactions/budget-question.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { type ScriptedUpstream, says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let upstream: ScriptedUpstream
let admin: Awaited<ReturnType<Accounts['person']>>
let member: Awaited<ReturnType<Accounts['person']>>

beforeAll(async () => {
  upstream = stack.use(await startScriptedUpstream())
  const price = { input: 1000, cachedInput: 500, output: 10_000 }
  const models = [{ id: 'm1', outputTokens: 100, contextTokens: 100_000, price }]
  accounts = stack.use(
    await startAccounts({
      variables: { BERTH_ROLES: 'api,account,gateway,worker' },
      config: {
        providers: [{ id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, models }],
        models: { default: 'main/m1' },
      },
    }),
  )
  admin = await accounts.person({ role: 'admin' })
})
beforeEach(async () => {
  member = await accounts.person({ role: 'member' })
})
afterEach(async () => {
  await db().query('delete from gateway_budgets')
  // A new budget begins with what its period has spent.
  await db().query('delete from gateway_requests')
})
afterAll(() => stack.disposeAsync())

/** 60 fresh, 40 cached and 10 output tokens, by the prices above. */
const costOfOne = (60 * 1000 + 40 * 500 + 10 * 10_000) / 1e6
const db = () => accounts.test.db.database
const organizationId = () => accounts.test.tenant.organizationId

const budget = (api: Api, body: object) => api.put('/cloud/settings', { budget: body })
const questionsOf = async ({ id }: Session) =>
  (await admin.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${id}/interactions`)).body.interactions
const resolutionsOf = async ({ id }: Session) => {
  const text = 'select resolution from interactions where session_id = $1 order by opened_at'
  return (await db().query<{ resolution: string }>(text, [id])).rows.map(({ resolution }) => resolution)
}
const openQuestion = (session: Session) =>
  until('a question about the budget', async () => (await questionsOf(session)).find(({ status }) => status === 'open'))
const reply = (api: Api, session: Session, { id }: Interaction, message: string) =>
  api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, { message, replyTo: { interactionId: id } })
const ended = (session: Session) => endedRun(admin.api, session, session.activeRunId ?? '')
const begin = () => member.api.createSession({}, 'Begin')
const step = says({ calls: [{ name: 'bash', args: { command: 'true' } }] })
const done = says({ text: 'Done.' })
const entries = async (action: string) =>
  (await admin.api.get<{ entries: Record<string, unknown>[] }>(`/cloud/audit?action=${action}`)).body.entries

/** Begins a Run of a member that one request more leads over the budget; resolves with the question. */
async function paused() {
  upstream.next(step, step, done)
  const session = await begin()
  return { session, question: await openQuestion(session) }
}

describe("a member's budget", () => {
  it('lets Runs wait for an administrator, tells of it once, and leaves traces in the audit log', async () => {
    const personId = member.who.personId
    const of = { personId, period: 'month', limitUsd: 1.5 * costOfOne, onReached: 'pause' }
    const { budgets } = (await budget(admin.api, of)).body as { budgets: object[] }
    expect(budgets).toMatchObject([
      { scope: 'person', id: personId, name: expect.any(String), onReached: 'pause', spentUsd: 0 },
    ])
    const { session, question } = await paused()
    expect(question.request.questions?.[0]?.question).toMatch(
      /^The person of this Session has spent \$0\.36 this month/,
    )
    const refused = await reply(member.api, session, question, '{"choice":"raise"}')
    expect([refused.status, refused.body['requiredScope']]).toEqual([403, 'organization.administer'])
    expect(await openQuestion(session)).toMatchObject({ id: question.id })
    expect((await reply(admin.api, session, question, '{"choice":"raise"}')).status).toBe(202)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    const reported = run.events.filter(({ type }) => type === 'svc.budget.reached')
    expect(reported.map(({ data }) => [data['scope'], data['share']])).toEqual([['person', 0.8]])
    const { time, queuedAt, endedAt = '' } = run.run
    expect(time?.peopleMs).toBeGreaterThan(0)
    const parts = time === undefined ? 0 : time.modelMs + time.peopleMs + time.toolsMs + time.platformMs
    expect(time?.sandboxMs).toBeGreaterThan(0)
    expect(Math.abs(parts - (Date.parse(endedAt) - Date.parse(queuedAt)))).toBeLessThanOrEqual(4)
    const cost = await admin.api.get<SessionCost>(`/cloud/sessions/${session.id}/cost`)
    expect(cost.body).toMatchObject({ time, run: null, usage: { inputTokens: 300, cachedInputTokens: 120 } })
    const target = `person/${personId}`
    expect(await entries('organization.budgets_changed')).toMatchObject([
      { target, details: { period: 'month', limitUsd: of.limitUsd, onReached: 'pause' } },
    ])
    expect(await entries('budget.raised')).toMatchObject([
      { target, actor: { id: admin.who.personId }, details: { byUsd: of.limitUsd, sessionId: session.id } },
    ])
  })

  it('is not raised by the organization if the operator has set it, and goes on once the operator raises it', async () => {
    const quota = { organizationId: organizationId(), personId: member.who.personId, period: 'day' } as const
    await setQuotaOf(db(), { ...quota, limitUsd: 1.5 * costOfOne, onReached: 'pause' }, new Date())
    const { session, question } = await paused()
    expect((await reply(admin.api, session, question, '{"amountUsd":9}')).status).toBe(403)
    await setQuotaOf(db(), { ...quota, limitUsd: 9 }, new Date())
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
  })
})

describe("an organization's budget", () => {
  it('lets all Runs go on that wait for it once it is raised for one', async () => {
    await budget(admin.api, { period: 'day', limitUsd: 0.5 * costOfOne, onReached: 'pause' })
    upstream.next(step)
    const sessions = [await begin(), await begin()]
    const questions = await Promise.all(sessions.map(openQuestion))
    upstream.next(done)
    const [session, question] = [sessions[0] as Session, questions[0] as Interaction]
    expect((await reply(admin.api, session, question, '{"amountUsd":9}')).status).toBe(202)
    for (const one of sessions) expect(outcomeOf(await ended(one))).toBe('completed completed - 1')
    expect((await resolutionsOf(sessions[1] as Session)).at(-1)).toBe('request_gone')
  })

  it('lets Runs go on when its next period begins', async () => {
    await budget(admin.api, { period: 'day', limitUsd: 1.5 * costOfOne, onReached: 'pause' })
    const { session } = await paused()
    const parts = {
      db: db(),
      clock: systemClock,
      wakeups: { publish: () => undefined },
      log: { warn: () => undefined },
    }
    const { signal } = new AbortController()
    await resumeWithinBudgets(parts, signal)
    expect((await questionsOf(session)).map(({ status }) => status)).toEqual(['open'])
    await db().query("update gateway_budgets set period_started_at = period_started_at - interval '1 day'")
    const transaction = () => Promise.reject(new Error('away'))
    const away = Object.assign(Object.create(null), { query: db().query.bind(db()), transaction })
    await resumeWithinBudgets({ ...parts, db: away }, signal)
    expect(await resolutionsOf(session)).toEqual([null])
    await resumeWithinBudgets(parts, signal)
    expect(await resolutionsOf(session)).toEqual(['request_gone'])
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
  })

  it('asks nobody if it was raised before people were asked', async () => {
    await budget(admin.api, { period: 'day', limitUsd: 9, onReached: 'pause' })
    const before = upstream.requests.length
    upstream.next(() => undefined)
    const session = await begin()
    await until('the request at the provider', () => upstream.requests.length > before)
    const { rows } = await db().query<{ id: string }>('select id from gateway_budgets')
    const run = { organizationId: organizationId(), sessionId: session.id, runId: session.activeRunId ?? '' }
    const parts = { db: db(), clock: systemClock, wakeups: { publish: () => undefined } }
    expect(await askForBudget(parts, run, rows[0]?.id ?? '', 'is_reached')).toBe('needless')
    expect(await questionsOf(session)).toEqual([])
    await admin.api.call('POST', `/v1/sessions/${session.id}/runs/${run.runId}/cancel`)
    expect((await endedRun(admin.api, session, run.runId)).run.status).toBe('cancelled')
    // What the request held is free or spent, whether its gateway or the end of the Run came first.
    await until('nothing to be reserved', async () => {
      const { rows } = await db().query<{ reserved: number }>(
        'select reserved_usd::float8 as reserved from gateway_budgets',
      )
      return rows[0]?.reserved === 0
    })
  })

  it('refuses again what waits for it once it is to refuse', async () => {
    await budget(admin.api, { period: 'day', limitUsd: 1.5 * costOfOne, onReached: 'pause' })
    const { session } = await paused()
    expect((await budget(admin.api, { period: 'day', onReached: 'refuse' })).status).toBe(200)
    const { run } = await ended(session)
    expect([run.status, run.errorCode]).toEqual(['failed', 'model_rate_limited'])
  })
})

it.each([
  [{ personId: randomUUID(), period: 'day', limitUsd: 1 }, 'personId'],
  [{ installationId: randomUUID(), period: 'day', limitUsd: 1 }, 'installationId'],
  [{ personId: randomUUID(), installationId: randomUUID(), period: 'day', limitUsd: 1 }, 'installationId'],
  [{ period: 'day' }, 'limitUsd'],
  [{ period: 'day', limitUsd: 0 }, 'limitUsd'],
  [{ period: 'total', limitUsd: 1 }, 'period'],
])('%j is no budget, and the answer names its %s', async (body, member) => {
  const answer = await budget(admin.api, body)
  expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ['budget', member] }] } })
})

it('is set by one of two names for it in a request', async () => {
  const both = { dayUsd: 5, budget: { period: 'day', limitUsd: 10 } }
  const answer = await admin.api.put('/cloud/settings', both)
  expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ['budget', 'period'] }] } })
  expect((await admin.api.put('/cloud/settings', { ...both, monthUsd: 7, dayUsd: undefined })).status).toBe(200)
})

it('is nothing for members to set', async () => {
  expect((await budget(member.api, { period: 'day', limitUsd: 1 })).status).toBe(403)
})
