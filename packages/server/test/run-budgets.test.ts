import type { Run } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setRunBudgets } from '../src/runs/run-budgets.ts'
import type { Api } from './support/api.ts'
import { type ScriptedUpstream, says, startScriptedUpstream } from './support/scripted-upstream.ts'
import { startTestService, type TestService } from './support/service.ts'

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

/** Asks a model from within a sandbox; what the gateway says to it is the Run's output. */
const ask = (model: string): string =>
  `curl -sS http://127.0.0.1:3128/v1/chat/completions -H 'content-type: application/json' ` +
  `-d '{"model":"${model}","messages":[{"role":"user","content":"Well?"}]}'`

async function runScript(api: Api, script: string) {
  const session = await api.createSession({ runtime: 'shell' }, script)
  const events = await api.runEnded(session.id, session.activeRunId ?? '')
  const run: Run = await api.run(session.id, session.activeRunId ?? '')
  return { run, events, text: JSON.stringify(events), end: events.at(-1)?.data }
}

/** 60 fresh, 40 cached and 10 of output, by the prices above. */
const costOfOne = (60 * 1 + 40 * 0.5 + 10 * 10) / 1e6

describe('what a run used', () => {
  it('is told with its end, to the last request', async () => {
    const { run, end } = await runScript(test.api, `${ask('main/m1')}; ${ask('main/m1')}`)
    expect(run).toMatchObject({
      status: 'completed',
      costComplete: true,
      usage: { inputTokens: 200, cachedInputTokens: 80, outputTokens: 20, reasoningTokens: 8 },
    })
    expect(run.costUsd).toBeCloseTo(2 * costOfOne, 9)
    expect(end).toMatchObject({ costUsd: run.costUsd, costComplete: true })
  })

  it('is only a part where a model has no price', async () => {
    const { run } = await runScript(test.api, `${ask('main/m1')}; ${ask('main/unpriced')}`)
    expect(run.costComplete).toBe(false)
    expect(run.costUsd).toBeCloseTo(costOfOne, 9)
  })

  it('is not told of a run that asked no model', async () => {
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

  it('of cost refuses models without a price', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { costUsd: 1 })
    const asked = upstream.requests.length
    expect((await runScript(api, ask('main/unpriced'))).text).toContain('cost_unknown')
    expect(upstream.requests.length).toBe(asked)
  })

  it('of time stops a run, and what it left is kept', async () => {
    const { tenant, api } = await test.newTenant()
    await setRunBudgets(test.db.database, tenant.organizationId, { seconds: 1 })
    const { run } = await runScript(api, 'echo kept > file; sleep 60')
    expect(run).toMatchObject({ status: 'completed', stopReason: 'time_budget' })
    await setRunBudgets(test.db.database, tenant.organizationId, {})
    const { run: next } = await api.submitTurn(run.sessionId, 'cat file')
    expect(JSON.stringify(await api.runEnded(run.sessionId, next.id))).toContain('kept')
  })
})
