import { randomUUID } from 'node:crypto'
import type { Event, Interaction, Session } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { type ScriptedUpstream, says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = stack.use(await startScriptedUpstream())
  const price = { input: 1000, cachedInput: 500, output: 10_000 }
  const models = [{ id: 'm1', outputTokens: 100, contextTokens: 100_000, price }, { id: 'unpriced' }]
  test = stack.use(
    await startTestService({
      config: {
        providers: [{ id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, models }],
        models: { default: 'main/m1' },
      },
      // bound: Runs are to wait for so long
      fixed: { parkMs: 4000 },
    }),
  )
})
afterAll(() => stack.disposeAsync())

/** 60 fresh, 40 cached and 10 output tokens, by the prices above. */
const costOfOne = (60 * 1000 + 40 * 500 + 10 * 10_000) / 1e6
const bash = (command: string) => says({ calls: [{ name: 'bash', args: { command } }] })

const openQuestion = (session: Session) =>
  until('a question about the budget', async () => {
    const path = `/v1/sessions/${session.id}/interactions`
    const { body } = await test.api.get<{ interactions: Interaction[] }>(path)
    return body.interactions.find(({ status }) => status === 'open')
  })
const reply = (session: Session, { id }: Interaction, message: string, api = test.api) =>
  api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, { message, replyTo: { interactionId: id } })
const ended = (session: Session) => endedRun(test.api, session, session.activeRunId ?? '')
const patch = (session: Session, body: object) => test.api.call('PATCH', `/v1/sessions/${session.id}`, body)
const reportedBudgets = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.budget.reached').map(({ data }) => data)

/** Begins a Run of two steps within a budget that one request more than reaches; resolves with the question. */
async function paused() {
  const before = upstream.requests.length
  upstream.next(bash('echo one > first'), bash('cat first'), says({ text: 'Done.' }))
  const session = await test.api.createSession({ budget: { costUsd: 1.5 * costOfOne } }, 'Begin')
  const question = await openQuestion(session)
  const requests = () => upstream.requests.length - before
  expect(requests()).toBe(2)
  const { status } = await test.api.run(session.id, session.activeRunId ?? '')
  expect(status).toBe('awaiting')
  return { session, question, requests }
}

describe("a Session's budget", () => {
  it('lets its Run wait, which goes on with the refused request once people raise it', async () => {
    const { session, question, requests } = await paused()
    const refused = await until('the refusal to be kept', async () => {
      const text = 'select error_code from gateway_requests where session_id = $1 and error_code is not null'
      return (await test.db.database.query(text, [session.id])).rows[0]
    })
    expect(refused).toEqual({ error_code: 'budget_reached' })
    expect(question).toMatchObject({
      kind: 'ask_user',
      request: {
        questions: [
          { options: ['Raise by $0.27, to $0.63', 'Raise by another amount', 'Stop'], fieldId: 'choice' },
          { fieldId: 'amountUsd' },
        ],
      },
    })
    expect((await test.api.session(session.id)).budget).toEqual({
      costUsd: 1.5 * costOfOne,
      spentUsd: expect.closeTo(2 * costOfOne, 9),
    })
    expect((await reply(session, question, '{"choice":"raise"}')).status).toBe(202)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(run.run).toMatchObject({ turns: 3, result: { summary: 'Done.' } })
    expect(requests()).toBe(3)
    expect(activitiesOf(run)).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded', output: 'one\n' }])
    expect(reportedBudgets(run.events)).toEqual([
      { scope: 'session', spentUsd: expect.closeTo(2 * costOfOne, 9), limitUsd: 1.5 * costOfOne, share: 0.8 },
    ])
    expect((await test.api.session(session.id)).budget?.costUsd).toBeCloseTo(3.5 * costOfOne, 9)
  })

  it('ends its Run with its work if people stop it', async () => {
    const { session, question, requests } = await paused()
    expect((await reply(session, question, 'Stop')).status).toBe(202)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed cost_budget - 1')
    expect(requests()).toBe(2)
    // The next Turn finds the budget as it was.
    upstream.next(says({ text: 'Never said.' }))
    const { run: next } = await test.api.submitTurn(session.id, 'Go on')
    const again = await openQuestion(session)
    expect(again.runId).toBe(next.id)
    expect((await reply(session, again, '{"choice":"amount","amountUsd":9}')).status).toBe(202)
    expect(outcomeOf(await endedRun(test.api, session, next.id))).toBe('completed completed - 1')
  })

  it('keeps a Run for as long as people take, without its sandbox', async () => {
    const { session, question } = await paused()
    await until('the sandbox to be given back', async () => {
      const { workspace } = await test.api.session(session.id)
      return workspace.state === 'expired'
    })
    upstream.next(bash('cat first'), says({ text: 'Done.' }))
    expect((await reply(session, question, '{"amountUsd":9}')).status).toBe(202)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(activitiesOf(run).at(-1)).toMatchObject({ status: 'succeeded', output: 'one\n' })
  })

  it('lets a parked Run go on with its conversation once it is raised elsewhere', async () => {
    const { session } = await paused()
    const isParked = async () => (await test.api.session(session.id)).workspace.state === 'expired'
    await until('the sandbox to be given back', isParked)
    const before = upstream.requests.length
    upstream.next(says({ text: 'Done.' }))
    expect((await patch(session, { budget: { costUsd: 9 } })).status).toBe(200)
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
    expect(upstream.requests[before]?.text).toContain('echo one > first')
  })

  it('is raised once if two people raise it at once, and only by who may change the Session', async () => {
    const { session, question } = await paused()
    const { organizationId, appSlug } = test.tenant
    const held = ['svc.cloud.access', 'svc.cloud.sessions:read', 'svc.cloud.turns:submit'] as const
    const { apiKey } = await createInstallation(test.db.database, organizationId, appSlug, held)
    const other = new Api(test.url, apiKey)
    // An installation sees its own Sessions alone.
    await test.db.database.query(
      'update sessions set owner_id = i.id from installations i, api_keys k where k.installation_id = i.id and sessions.id = $1 and i.capabilities = $2',
      [session.id, held],
    )
    const refused = await reply(session, question, '{"choice":"raise"}', other)
    expect([refused.status, refused.body['requiredScope']]).toEqual([403, 'svc.cloud.sessions:create'])
    await test.db.database.query('update sessions set owner_id = $2 where id = $1', [
      session.id,
      test.tenant.installationId,
    ])
    expect(await openQuestion(session)).toMatchObject({ id: question.id })
    const both = await Promise.all([1, 2].map(() => reply(session, question, '{"choice":"raise"}')))
    expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409])
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
    expect((await test.api.session(session.id)).budget?.costUsd).toBeCloseTo(3.5 * costOfOne, 9)
  })

  it('lets a waiting Run go on once it is raised or removed elsewhere, and not while it stays beneath the spend', async () => {
    const { session, question } = await paused()
    expect((await patch(session, { budget: { costUsd: 0.01 } })).status).toBe(200)
    expect(await openQuestion(session)).toMatchObject({ id: question.id })
    for (const answer of ['{}', '{"amountUsd":0.001}', '{"amountUsd":1e300}', '{"amountUsd":-5}']) {
      expect((await reply(session, question, answer)).status).toBe(400)
    }
    expect((await patch(session, { budget: null })).body).toMatchObject({ session: { budget: null } })
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
    expect((await reply(session, question, 'Stop')).status).toBe(409)
  })

  it('refuses a model without a price, and amounts that are none', async () => {
    const session = await test.api.createSession({ budget: { costUsd: 0.01 }, model: 'main/unpriced' }, 'Begin')
    expect(outcomeOf(await ended(session))).toBe('completed cost_unknown - 1')
    for (const budget of [{ costUsd: 0 }, { costUsd: -1 }, { costUsd: 0.001 }, {}, 5]) {
      expect((await patch(session, { budget })).status).toBe(400)
    }
    // One cent is a budget.
    expect((await patch(session, { budget: { costUsd: 0.01 } })).status).toBe(200)
  })

  it('waits no longer once its Run is cancelled', async () => {
    const { session } = await paused()
    await test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    expect(outcomeOf(await ended(session))).toBe('cancelled aborted - 1')
  })
})
