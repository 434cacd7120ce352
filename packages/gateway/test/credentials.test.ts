import { randomUUID } from 'node:crypto'
import { keepRequests, type RequestRecord } from '@berth/core/accounting/gateway-request-sql.ts'
import { usageOfRun } from '@berth/core/accounting/usage-of-run.ts'
import { usageGroupings } from '@berth/core/accounting/usage-report.ts'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { readUsage } from '@berth/server/admin/spending.ts'
import { refuses, says, streamsUntil } from '@berth/testing/models/scripted-upstream.ts'
import { createAiKey, type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
beforeAll(async () => {
  gateway = await startGatewayService()
  gateway.upstream.next(says({ text: 'hello there' }))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const db = () => gateway.test.db.database
const question = (model = 'main/m1') => ({ model, messages: [{ role: 'user', content: 'a' }] })
/** 60 fresh and 40 cached input tokens and 10 output tokens, at 1, 0.5 and 10 dollars a million. */
const costUsd = (60 * 1 + 40 * 0.5 + 10 * 10) / 1e6

interface Refusal {
  readonly error: Readonly<Record<string, unknown>>
}

async function ask(key?: string, body: object = question()): Promise<[number, unknown, Response]> {
  const answer = await gateway.call('/v1/chat/completions', body, key === undefined ? {} : { key })
  const { error } = (await answer.json()) as Partial<Refusal>
  return [answer.status, error?.['code'] ?? null, answer]
}

const outcome = async (key?: string, body?: object) => (await ask(key, body)).slice(0, 2)

async function newRun(budgetUsd?: number) {
  const session = await gateway.test.api.createSession()
  const { run } = await gateway.test.api.submitTurn(session.id, 'a')
  const { organizationId } = gateway.test.tenant
  const of = { organizationId, sessionId: session.id, runId: run.id }
  const credential = await mintRuntimeCredential(
    db(),
    { ...of, ...(budgetUsd !== undefined && { budgetUsd }) },
    new Date(),
  )
  return { ...of, credential }
}

const requestOf = (organizationId: string): RequestRecord => ({
  ...{ id: randomUUID(), organizationId, sessionId: null, runId: null },
  ...{
    credentialKind: 'runtime',
    apiKeyId: null,
    installationId: null,
    personId: null,
    endUserId: null,
    wire: 'chat',
    provider: 'main',
    model: 'main/m1',
  },
  ...{ outcome: 'open', errorCode: null, usage: null, costUsd: null, reservedUsd: null, holder: null },
  ...{ firstTokenMs: null, durationMs: null, startedAt: new Date() },
})

const endRun = (runId: string) =>
  db().query("update runs set status = 'completed', ended_at = now() where id = $1", [runId])

describe('a credential', () => {
  it('of the API is refused here, and one of the gateway is refused there', async () => {
    const refused = [401, 'invalid_or_expired_credential']
    expect(await outcome(gateway.test.tenant.apiKey)).toEqual(refused)
    const { credential } = await newRun()
    for (const key of [gateway.aiKey, credential]) {
      const answer = await fetch(`${gateway.test.url}/v1/sessions`, { headers: { authorization: `Bearer ${key}` } })
      expect([answer.status, await answer.json()]).toEqual([401, { error: 'invalid_or_expired_credential' }])
    }
  })

  it('gets the state of its bucket even with the refusal of an organization header', async () => {
    const headers = { authorization: `Bearer ${gateway.aiKey}`, 'x-svc-organization': randomUUID() }
    for (const path of ['/v1/models', '/v1/nope']) {
      const answer = await fetch(gateway.test.url + path, { headers })
      expect([answer.status, answer.headers.get('ratelimit')]).toEqual([400, expect.stringContaining('"svc-ai";r=')])
    }
  })

  it('of the gateway is checked even below unknown paths', async () => {
    const { credential } = await newRun()
    const { apiKey } = gateway.test.tenant
    const statuses = [gateway.aiKey, credential, apiKey, 'svc_ai_live_none', 'svc_run_none'].map(async key => {
      const answer = await gateway.call('/v1/nope', undefined, { key })
      return [answer.status, await answer.json()]
    })
    const [unknown, invalid] = [{ error: 'unknown_endpoint' }, { error: 'invalid_or_expired_credential' }]
    const answers = [...Array(3).fill([404, unknown]), ...Array(2).fill([401, invalid])]
    expect(await Promise.all(statuses)).toEqual(answers)
  })

  it('needs the capability, and ends with its revocation', async () => {
    const narrow = await createAiKey(db(), gateway.test.tenant, ['svc.cloud.access'])
    const [status, code, answer] = await ask(narrow.aiKey)
    expect([status, code, answer.headers.has('ratelimit')]).toEqual([403, 'insufficient_scope', true])
    const alone = await createAiKey(db(), gateway.test.tenant, ['svc.ai.invoke'])
    expect(await outcome(alone.aiKey)).toEqual([200, null])
    await db().query('update api_keys set revoked_at = now() where id = $1', [alone.apiKeyId])
    expect(await outcome(alone.aiKey)).toEqual([401, 'invalid_or_expired_credential'])
  })

  it('of a Run ends with the Run', async () => {
    const run = await newRun()
    expect(await outcome(run.credential)).toEqual([200, null])
    await endRun(run.runId)
    expect(await outcome(run.credential)).toEqual([401, 'invalid_or_expired_credential'])
  })
})

describe('a credential of a Run', () => {
  it('ends with the installation of its Session, although the Run has not ended', async () => {
    const { tenant, api } = await gateway.test.newTenant()
    const session = await api.createSession()
    const { run } = await api.submitTurn(session.id, 'a')
    const { organizationId, installationId } = tenant
    const credential = await mintRuntimeCredential(
      db(),
      { organizationId, sessionId: session.id, runId: run.id },
      new Date(),
    )
    expect(await outcome(credential)).toEqual([200, null])
    await db().query('update installations set revoked_at = now() where id = $1', [installationId])
    expect(await outcome(credential)).toEqual([401, 'invalid_or_expired_credential'])
  })

  it('stays valid if the Session belongs to a person', async () => {
    const run = await newRun()
    await db().query("update sessions set owner_kind = 'person', owner_id = gen_random_uuid() where id = $1", [
      run.sessionId,
    ])
    expect(await outcome(run.credential)).toEqual([200, null])
  })
})

describe('the models of an organization', () => {
  it('are those on its list, or all without a list', async () => {
    const { tenant } = await gateway.test.newTenant()
    const { aiKey } = await createAiKey(db(), tenant)
    expect(await outcome(aiKey)).toEqual([200, null])
    await db().query('insert into organization_limits (organization_id, models) values ($1, array[$2])', [
      tenant.organizationId,
      'main/plain',
    ])
    expect(await outcome(aiKey)).toEqual([404, 'model_not_found'])
    expect(await outcome(aiKey, question('main/plain'))).toEqual([200, null])
    const list = (await (await gateway.call('/v1/models', undefined, { key: aiKey })).json()) as { data: object[] }
    expect(list.data).toMatchObject([{ id: 'main/plain' }])
  })
})

describe('the use of a request', () => {
  it('is accounted once, whole and streamed, over both formats', async () => {
    const { aiKey, apiKeyId } = await createAiKey(db(), gateway.test.tenant)
    for (const stream of [false, true]) {
      await (await gateway.call('/v1/chat/completions', { ...question('fast'), stream }, { key: aiKey })).text()
      await (await gateway.call('/v1/responses', { model: 'fast', input: 'a', stream }, { key: aiKey })).text()
    }
    const mine = async () => (await gateway.requests()).filter(row => row['api_key_id'] === apiKeyId)
    await until('the requests are kept', async () => (await mine()).length === 4)
    for (const row of await mine()) {
      expect(row).toMatchObject({
        credential_kind: 'ai_key',
        provider: 'main',
        model: 'main/m1',
        outcome: 'completed',
        error_code: null,
        input_tokens: 100,
        cached_input_tokens: 40,
        output_tokens: 10,
        reasoning_tokens: 4,
        run_id: null,
      })
      expect(Number(row['cost_usd'])).toBeCloseTo(costUsd, 12)
    }
    expect((await mine()).filter(row => row['first_token_ms'] !== null)).toHaveLength(2)
  })

  it('is reported to operators', async () => {
    const env = { DATABASE_URL: databaseUrl(gateway.test.db), BERTH_DATA_DIR: gateway.test.dataDir }
    const [first] = await readUsage(env, { by: 'model', since: new Date(0) })
    expect(first).toMatchObject({ group: 'main/m1', failed: 0, unknownCost: 0 })
    expect(first?.inputTokens).toBe(100 * (first?.requests ?? 0))
    for (const by of usageGroupings)
      expect((await readUsage(env, { by, since: new Date(0) })).length).toBeGreaterThan(0)
  })

  it('is added to its Run before its answer has ended', async () => {
    const run = await newRun()
    expect(await usageOfRun(db(), run)).toMatchObject({ costUsd: 0, costComplete: true, open: 0 })
    for (const stream of [false, true]) {
      await (await gateway.call('/v1/responses', { model: 'fast', input: 'a', stream }, { key: run.credential })).text()
    }
    const used = await usageOfRun(db(), run)
    const input = { inputTokens: 200, cachedInputTokens: 80, cacheWriteTokens: 0 }
    expect(used.usage).toEqual({ ...input, outputTokens: 20, reasoningTokens: 8 })
    expect(used.costUsd).toBeCloseTo(2 * costUsd, 12)
    expect([used.costComplete, used.open]).toEqual([true, 0])
    expect(await outcome(run.credential, question('main/unpriced'))).toEqual([200, null])
    expect(await usageOfRun(db(), run)).toMatchObject({ costComplete: false })
  })

  it('is booked when the client leaves, and the request to the provider is aborted', async () => {
    await using other = await startGatewayService()
    other.upstream.next(streamsUntil({ text: 'hello there' }, 2, 'silence'))
    const leaving = new AbortController()
    const body = { ...question(), stream: true }
    const answer = await other.call('/v1/chat/completions', body, { signal: leaving.signal })
    await answer.body?.getReader().read()
    leaving.abort()
    await until('the provider is let go of', () => other.upstream.abandoned === 1)
    await until('the request is kept', async () => (await other.requests()).length === 1)
    expect((await other.requests())[0]).toMatchObject({ outcome: 'left', cost_usd: null, input_tokens: null })
  })

  it('is not known if the client of a translated request leaves before its first piece', async () => {
    await using other = await startGatewayService({ provider: { kind: 'openai-compatible' } })
    other.upstream.next(() => {})
    const leaving = new AbortController()
    const body = { model: 'fast', input: 'a', stream: true }
    const answer = other.call('/v1/responses', body, { signal: leaving.signal }).catch(() => null)
    await until('the provider is asked', () => other.upstream.requests.length === 1)
    leaving.abort()
    await answer
    await until('the request is kept', async () => (await other.requests()).length === 1)
    expect((await other.requests())[0]).toMatchObject({ outcome: 'left', cost_usd: null })
  })

  it('is nothing if the client leaves before a byte goes to the provider, and else unknown', async () => {
    await using other = await startGatewayService({ fixed: { gatewayConnections: 1 } })
    const { database } = other.test.db
    const session = await other.test.api.createSession()
    const { run } = await other.test.api.submitTurn(session.id, 'a')
    const { organizationId } = other.test.tenant
    const key = await mintRuntimeCredential(
      database,
      { organizationId, sessionId: session.id, runId: run.id },
      new Date(),
    )
    other.upstream.next(() => {})
    const leaving = [new AbortController(), new AbortController()] as const
    const call = ({ signal }: AbortController) =>
      other.call('/v1/chat/completions', question(), { key, signal }).catch(() => null)
    const open = (count: number) =>
      until('the requests to be open', async () => (await other.requests()).length === count)
    const answers = [call(leaving[0])]
    await until('the provider is asked', () => other.upstream.requests.length === 1)
    await open(1)
    answers.push(call(leaving[1]))
    await open(2)
    const costs = async () =>
      (await other.requests()).filter(({ outcome }) => outcome === 'left').map(({ cost_usd }) => cost_usd)
    leaving[1].abort()
    await until('the one that waits is kept', async () => (await costs()).length === 1)
    expect(await costs()).toEqual(['0'])
    leaving[0].abort()
    await Promise.all(answers)
    await until('the other one is kept', async () => (await costs()).length === 2)
    expect(await costs()).toEqual([null, '0'])
  })

  it('is nothing if the client leaves between two attempts of which the first was refused', async () => {
    await using other = await startGatewayService({ fixed: { gatewayRetries: 1, gatewayRetryWaitMs: 60_000 } })
    other.upstream.next(refuses(429, 'slow down', { 'retry-after': '50' }))
    const leaving = new AbortController()
    const answer = other.call('/v1/chat/completions', question(), { signal: leaving.signal }).catch(() => null)
    await until('the provider is asked', () => other.upstream.requests.length === 1)
    leaving.abort()
    await answer
    await until('the request is kept', async () => (await other.requests()).length === 1)
    expect((await other.requests())[0]).toMatchObject({ outcome: 'left', cost_usd: '0' })
  })

  it('is on disk once it is stored, unless its row existed before', async () => {
    const run = await newRun()
    const request = { ...requestOf(run.organizationId), sessionId: run.sessionId, runId: run.runId }
    const commit = (record: RequestRecord, flushed: boolean) =>
      db().transaction(async transaction => {
        await transaction.query('set local synchronous_commit = on')
        await keepRequests(transaction, [record], new Date(), { flushed })
        return (await transaction.query('show synchronous_commit')).rows
      })
    expect(await commit(request, true)).toEqual([{ synchronous_commit: 'on' }])
    expect(await commit({ ...request, outcome: 'completed', costUsd: 1 }, false)).toEqual([
      { synchronous_commit: 'off' },
    ])
    expect(await usageOfRun(db(), run)).toMatchObject({ costUsd: 1, costComplete: true, open: 0 })
  })
})

describe('a budget', () => {
  const setBudget = (organizationId: string, apiKeyId: string | null, period: string, limitUsd: number) =>
    db().query(
      `insert into gateway_budgets (id, organization_id, api_key_id, period, limit_usd, period_started_at)
       values ($1, $2, $3, $4, $5, now())`,
      [randomUUID(), organizationId, apiKeyId, period, limitUsd],
    )

  it('of a key or an organization refuses once it is spent, until its period is over', async () => {
    const { tenant } = await gateway.test.newTenant()
    const [one, two] = [await createAiKey(db(), tenant), await createAiKey(db(), tenant)]
    await setBudget(tenant.organizationId, one.apiKeyId, 'day', costUsd)
    await setBudget(tenant.organizationId, null, 'month', 1.5 * costUsd)
    const spent = async (least: number) => {
      const { rows } = await db().query<{ spent: string }>(
        'select max(spent_usd) as spent from gateway_budgets where organization_id = $1',
        [tenant.organizationId],
      )
      return Number(rows[0]?.spent) > least
    }
    expect(await outcome(one.aiKey)).toEqual([200, null])
    await until('the cost is added', () => spent(0))
    const [status, code, answer] = await ask(one.aiKey)
    expect([status, code, answer.headers.get('x-should-retry')]).toEqual([429, 'insufficient_quota', 'false'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await outcome(two.aiKey)).toEqual([200, null])
    await until('the cost is added', () => spent(1.2 * costUsd))
    expect(await outcome(two.aiKey)).toEqual([429, 'insufficient_quota'])
    await db().query("update gateway_budgets set period_started_at = period_started_at - interval '40 days'")
    expect([await outcome(one.aiKey), await outcome(two.aiKey)]).toEqual([
      [200, null],
      [200, null],
    ])
  })

  it('counts a request once, however often it is stored', async () => {
    const { organizationId } = (await gateway.test.newTenant()).tenant
    await setBudget(organizationId, null, 'total', 10)
    const settled = { ...requestOf(organizationId), outcome: 'completed', costUsd: 1 } as const
    for (let n = 0; n < 2; n += 1) await keepRequests(db(), [settled], new Date())
    const { rows } = await db().query('select spent_usd from gateway_budgets where organization_id = $1', [
      organizationId,
    ])
    expect(rows.map(({ spent_usd }) => Number(spent_usd))).toEqual([1])
  })

  it('counts no cost as nothing: a model without a price is refused wherever there is one', async () => {
    const { tenant } = await gateway.test.newTenant()
    const { aiKey, apiKeyId } = await createAiKey(db(), tenant)
    expect(await outcome(aiKey, question('main/unpriced'))).toEqual([200, null])
    await setBudget(tenant.organizationId, apiKeyId, 'month', 10)
    const answer = await gateway.call('/v1/chat/completions', question('main/unpriced'), { key: aiKey })
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      {
        error: {
          code: 'cost_unknown',
          message: expect.stringMatching(/'main\/unpriced' has no price: .* sets `price`/),
        },
      },
    ])
    expect(await outcome(aiKey)).toEqual([200, null])
    expect(await outcome((await createAiKey(db(), tenant)).aiKey, question('main/unpriced'))).toEqual([200, null])
  })

  it('of a Run refuses once it is spent, and if the cost would be unknown', async () => {
    const run = await newRun(1.5 * costUsd)
    expect(await outcome(run.credential, question('main/unpriced'))).toEqual([402, 'cost_unknown'])
    for (let n = 0; n < 2; n += 1) expect(await outcome(run.credential)).toEqual([200, null])
    expect(await outcome(run.credential)).toEqual([402, 'cost_budget_exceeded'])
  })
})

describe('the bucket', () => {
  it('is svc-ai: one for each installation and one for each Run', async () => {
    await using small = await startGatewayService({
      variables: { BERTH_GATEWAY_RATE_PER_MINUTE: '1' },
      fixed: { gatewayBurstSeconds: 2 * 60 },
    })
    const list = () => small.call('/v1/models', undefined)
    const policies = [(await list()).headers.get('ratelimit-policy'), (await list()).headers.get('ratelimit')]
    expect(policies).toEqual(['"svc-ai";q=1;w=60;svc-burst=2', expect.stringContaining('"svc-ai";r=0;')])
    const refused = await list()
    const { error } = (await refused.json()) as Refusal
    expect([refused.status, error]).toMatchObject([
      429,
      { code: 'cloud_rate_limit_exceeded', type: 'rate_limit_error' },
    ])
    expect(error['retryAfterSeconds']).toBe(Number(refused.headers.get('retry-after')))
    expect((await small.test.api.get('/v1/sessions')).status).toBe(200)
    await small.test.db.database.query('update rate_buckets set tokens = 2')
    const together = await Promise.all(Array.from({ length: 6 }, list))
    expect(together.map(answer => answer.status).sort()).toEqual([200, 200, 429, 429, 429, 429])
  })
})
