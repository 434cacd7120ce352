import { existsSync } from 'node:fs'
import type { Run } from '@berth/contract'
import { setRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { type ScriptedUpstream, says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = stack.use(await startScriptedUpstream())
  upstream.next(says({ text: 'Yes.' }))
  const models = [{ id: 'm1', price: { input: 1, cachedInput: 0.5, output: 10 } }, { id: 'unpriced' }]
  test = stack.use(
    await startTestService({
      config: { providers: [{ id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, models }] },
      variables: { BERTH_RUN_BUDGET_SECONDS: '600' },
    }),
  )
})
afterAll(() => stack.disposeAsync())

/** Asks a model from within a sandbox; the gateway's answer is the Run's output. */
const ask = (model: string): string =>
  `curl -sS http://127.0.0.1:3128/v1/chat/completions -H 'content-type: application/json' ` +
  `-d '{"model":"${model}","messages":[{"role":"user","content":"Well?"}]}'`

async function runScript(api: Api, script: string) {
  const session = await api.createSession({ runtime: 'shell' }, script)
  return endOf(api, session.id, session.activeRunId ?? '')
}

async function endOf(api: Api, sessionId: string, runId: string) {
  const events = await api.runEnded(sessionId, runId)
  const run: Run = await api.run(sessionId, runId)
  return { run, events, text: JSON.stringify(events), end: events.at(-1)?.data }
}

/**
 * Starts a script that asks a model, makes the file `asked` and then runs `rest`; delays the write of the answer's
 * cost. Resolves once the model has answered.
 */
async function withheldCost(api: Api, rest: string) {
  const { database } = test.db
  const [requested, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const answered = Promise.withResolvers<void>()
  const answers = says({ text: 'Yes.' })
  upstream.next(async (request, response) => {
    requested.resolve()
    await mayAnswer.promise
    await answers(request, response)
    answered.resolve()
  }, answers)
  const session = await api.createSession({ runtime: 'shell' }, `${ask('main/m1')}; touch asked; ${rest}`)
  const runId = session.activeRunId ?? ''
  await requested.promise
  const [held, mayBeWritten] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = database.transaction(async tx => {
    const lock = { text: 'select 1 from gateway_requests where run_id = $1 for update', values: [runId] }
    await until('the row of the request', async () => (await tx.query(lock)).rowCount === 1)
    held.resolve()
    await mayBeWritten.promise
  })
  await held.promise
  mayAnswer.resolve()
  await answered.promise
  const file = await workspacePath(database, test.dataDir, session, 'asked')
  return {
    runId,
    hasAnswer: () => existsSync(file),
    /** Any effect of the answer has had time to happen. */
    async staysSo(expected: () => Promise<void>) {
      for (let n = 0; n < 40; n += 1) await expected()
    },
    async end() {
      mayBeWritten.resolve()
      await holding
      return endOf(api, session.id, runId)
    },
    status: async () => (await api.run(session.id, runId)).status,
  }
}

/** 60 fresh, 40 cached and 10 output tokens, by the prices above. */
const costOfOne = (60 * 1 + 40 * 0.5 + 10 * 10) / 1e6

describe('the use of a run', () => {
  it('is reported with its end, to the last request', async () => {
    const { run, end } = await runScript(test.api, `${ask('main/m1')}; ${ask('main/m1')}`)
    expect(run).toMatchObject({
      status: 'completed',
      costComplete: true,
      usage: { inputTokens: 200, cachedInputTokens: 80, outputTokens: 20, reasoningTokens: 8 },
    })
    expect(run.costUsd).toBeCloseTo(2 * costOfOne, 9)
    expect(end).toMatchObject({ costUsd: run.costUsd, costComplete: true })
  })

  it('includes the last request, whose answer ends only once its cost is stored', async () => {
    const run = await withheldCost(test.api, 'true')
    await run.staysSo(async () => expect([await run.status(), run.hasAnswer()]).toEqual(['running', false]))
    const { end } = await run.end()
    expect(end).toMatchObject({ costUsd: expect.closeTo(costOfOne, 9), costComplete: true })
  })

  it('is marked incomplete if a model has no price', async () => {
    const { run } = await runScript(test.api, `${ask('main/m1')}; ${ask('main/unpriced')}`)
    expect(run.costComplete).toBe(false)
    expect(run.costUsd).toBeCloseTo(costOfOne, 9)
  })

  it('is not reported for a run that asked no model', async () => {
    const { run, end } = await runScript(test.api, 'true')
    expect([run.costUsd, run.usage, end]).toEqual([
      undefined,
      undefined,
      { status: 'completed', stopReason: 'completed' },
    ])
  })
})

describe("an organization's budget", () => {
  it('of cost ends a run once it is spent', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { costUsd: costOfOne / 2 })
    const { run, text, end } = await runScript(api, `${ask('main/m1')}; ${ask('main/m1')}`)
    expect(text).toContain('cost_budget_exceeded')
    expect(run).toMatchObject({ status: 'completed', stopReason: 'cost_budget' })
    expect(end).toMatchObject({ stopReason: 'cost_budget' })
    expect(run.costUsd).toBeCloseTo(costOfOne, 9)
  })

  it('of cost counts the previous request however late its cost is stored', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { costUsd: costOfOne / 2 })
    const before = upstream.requests.length
    const run = await withheldCost(api, ask('main/m1'))
    await run.staysSo(async () => {
      expect(await run.status()).toBe('running')
      expect(upstream.requests.length).toBe(before + 1)
    })
    const { text } = await run.end()
    expect(text).toContain('cost_budget_exceeded')
    expect(upstream.requests.length).toBe(before + 1)
  })

  it('of cost refuses models without a price', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { costUsd: 1 })
    const requested = upstream.requests.length
    expect((await runScript(api, ask('main/unpriced'))).text).toContain('cost_unknown')
    expect(upstream.requests.length).toBe(requested)
  })

  it('of time stops a run and keeps its work', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { seconds: 300 })
    const session = await api.createSession({ runtime: 'shell' }, 'echo kept > new; mv new file; sleep 600')
    await until('the work', async () =>
      existsSync(await workspacePath(test.db.database, test.dataDir, session, 'file').catch(() => '')),
    )
    // Its worker takes the time at which it first sees the Run begun as its beginning.
    await until('the end', async () => {
      await test.db.database.query(
        "update runs set started_at = started_at - interval '5 minutes' where session_id = $1 and ended_at is null",
        [session.id],
      )
      return (await api.run(session.id, session.activeRunId ?? '')).endedAt !== undefined
    })
    const { run } = await endOf(api, session.id, session.activeRunId ?? '')
    expect(run).toMatchObject({ status: 'completed', stopReason: 'time_budget' })
    await setRunBudgets(test.db.database, tenant.organizationId, {})
    const { run: next } = await api.submitTurn(run.sessionId, 'cat file')
    const events = await api.runEnded(run.sessionId, next.id)
    expect(events.findLast(({ type }) => type === 'svc.activity.completed')?.data).toMatchObject({ output: 'kept\n' })
  })
})
