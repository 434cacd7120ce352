import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Booking } from '@berth/core/accounting/booking.ts'
import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import { openRecord } from '@berth/core/accounting/request-meter.ts'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import type { ResolvedModel } from '@berth/core/accounting/upstream.ts'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { holdToBudgets } from '@berth/gateway/hold-to-budgets.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const key = { BERTH_MASTER_KEY: '0b'.repeat(32) }
let one: GatewayService
let variables: Record<string, string>
const gateways: ServiceProcess[] = []
beforeAll(async () => {
  one = stack.use(await startGatewayService({ variables: key }))
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-budgets-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const config = join(dataDir, 'berth.json')
  const models = [
    { id: 'm1', contextTokens: 1000, outputTokens: 10, price: { input: 1000, cachedInput: 500, output: 10_000 } },
  ]
  const provider = { id: 'main', kind: 'openai', baseUrl: one.upstream.baseUrl, apiKey: 'k', models }
  await writeFile(config, JSON.stringify({ providers: [provider] }), { mode: 0o600 })
  variables = {
    ...key,
    DATABASE_URL: databaseUrl(one.test.db),
    BERTH_DATA_DIR: dataDir,
    BERTH_BLOBS: `file:${join(one.test.dataDir, 'blobs')}`,
    BERTH_CONFIG: config,
    BERTH_ROLES: 'gateway',
  }
  for (let n = 0; n < 2; n += 1) gateways.push(stack.use(await startServiceProcess(variables)))
})
beforeEach(async () => {
  await db().query('delete from gateway_budgets')
  // A new budget begins with what its period has spent.
  await db().query('delete from gateway_requests')
})
afterAll(() => stack.disposeAsync())

/** 60 fresh, 40 cached and 10 output tokens, by the prices above. */
const costUsd = (60 * 1000 + 40 * 500 + 10 * 10_000) / 1e6
const db = () => one.test.db.database
const organizationId = () => one.test.tenant.organizationId
const body = JSON.stringify({ model: 'main/m1', messages: [{ role: 'user', content: 'a'.repeat(100) }] })
/** Every byte is a token, and the answer as long as it may be. */
const mostUsd = (Buffer.byteLength(body) * 1000 + 10 * 10_000) / 1e6

async function newRun(): Promise<string> {
  const session = await one.test.api.createSession()
  const { run } = await one.test.api.submitTurn(session.id, 'a')
  const of = { organizationId: organizationId(), sessionId: session.id, runId: run.id }
  return mintRuntimeCredential(db(), of, new Date())
}

const ask = (credential: string, gateway: ServiceProcess, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body,
    ...(signal !== undefined && { signal }),
  })

const limit = (usd: number) =>
  setQuotaOf(db(), { organizationId: organizationId(), period: 'month', limitUsd: usd, onReached: 'pause' }, new Date())
const counted = async () => {
  const { rows } = await db().query<{ spent: number; reserved: number }>(
    'select spent_usd::float8 as spent, reserved_usd::float8 as reserved from gateway_budgets',
  )
  return rows[0] ?? { spent: 0, reserved: 0 }
}

describe('a budget of eight Runs at two gateways', () => {
  it('is led over by one request at most', async () => {
    await limit(12.5 * costUsd)
    one.upstream.next(says({ text: 'Yes.' }))
    const before = one.upstream.requests.length
    const runs = await Promise.all(Array.from({ length: 8 }, newRun))
    const answers = await Promise.all(
      runs.map(async (credential, at) => {
        for (;;) {
          const answer = await ask(credential, gateways[at % 2] as ServiceProcess)
          const { error } = (await answer.json()) as { error?: { code: string } }
          if (!answer.ok) return [answer.status, error?.code, answer.headers.get('x-should-retry')]
        }
      }),
    )
    expect(answers).toEqual(Array.from({ length: 8 }, () => [402, 'budget_reached', 'false']))
    expect(one.upstream.requests.length - before).toBe(13)
    expect(await counted()).toEqual({ spent: expect.closeTo(13 * costUsd, 9), reserved: expect.closeTo(0, 9) })
  })

  it('counts the most that a request may have cost whose gateway was killed before it was accounted', async () => {
    await limit(mostUsd + 1.5 * costUsd)
    const [lost, other] = [await newRun(), await newRun()]
    // It never answers.
    one.upstream.next(() => undefined)
    const before = one.upstream.requests.length
    const response = ask(lost, gateways[0] as ServiceProcess)
    response.catch(() => undefined)
    await until('the request at the provider', () => one.upstream.requests.length > before)
    await until('its row', async () => (await counted()).reserved > 0)
    await gateways[0]?.kill('SIGKILL')
    await expect(response).rejects.toThrow()
    gateways[0] = stack.use(await startServiceProcess(variables))
    one.upstream.next(says({ text: 'Yes.' }))
    for (const gateway of gateways) {
      expect((await ask(other, gateway)).status).toBe(200)
    }
    expect(await counted()).toEqual({ spent: expect.closeTo(2 * costUsd, 9), reserved: expect.closeTo(mostUsd, 9) })
    // One more might lead over it, and nobody knows yet what the lost one has cost. bound: it is to wait.
    await expect(ask(other, gateways[1] as ServiceProcess, AbortSignal.timeout(3000))).rejects.toThrow()
    expect(one.upstream.requests.length - before).toBe(3)
    // Once its process has lapsed, nobody waits for it: people are asked.
    await db().query(`
      update processes set patience = '0'
      where id in (select holder from gateway_requests where outcome = 'open' and reserved_usd > 0)`)
    const refused = await ask(other, gateways[1] as ServiceProcess)
    expect([refused.status, await refused.json()]).toMatchObject([402, { error: { code: 'budget_reached' } }])
    await limit(2 * mostUsd + 9 * costUsd)
    expect((await ask(other, gateways[1] as ServiceProcess)).status).toBe(200)
  })

  it('holds nothing for a request whose commit was not answered', async () => {
    await limit(9)
    const session = await one.test.api.createSession({}, 'a')
    const run = { sessionId: session.id, runId: session.activeRunId ?? '', pauses: true, awaits: false }
    const signal = new AbortController().signal
    const caller = { organizationId: organizationId(), kind: 'runtime', run }
    const request = { id: randomUUID(), wire: 'chat', caller, signal, body: {}, query: {} } as unknown as ModelRequest
    const model = { provider: 'main', catalogId: 'main/m1' } as ResolvedModel
    const opening = openRecord(request, model, new Date(), { reservedUsd: 1, holder: 'h' })
    const lose = () => {
      throw new Error('connection lost')
    }
    let reserved = 0
    const transaction: Database['transaction'] = async work => {
      await db().transaction(work)
      reserved = (await counted()).reserved
      return lose()
    }
    await using booking = new Booking(db(), systemClock, lose)
    const parts = { db: { transaction }, clock: systemClock, booking } as unknown as Parameters<typeof holdToBudgets>[0]
    await expect(holdToBudgets(parts, request, opening)).rejects.toThrow('connection lost')
    expect(reserved).toBe(1)
    await until('the reservation to go', async () => (await counted()).reserved === 0)
    const text =
      'select outcome, cost_usd::float8 as cost, input_tokens::int as tokens from gateway_requests where id = $1'
    expect((await db().query(text, [request.id])).rows).toEqual([{ outcome: 'failed', cost: 0, tokens: 0 }])
    expect(await counted()).toEqual({ spent: 0, reserved: 0 })
  })

  it('takes no request at a price that nobody knows', async () => {
    await limit(9)
    const before = one.upstream.requests.length
    const answer = await fetch(`${one.test.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await newRun()}`, 'content-type': 'application/json' },
      body: body.replace('main/m1', 'main/unpriced'),
    })
    expect([answer.status, await answer.json()]).toEqual([
      402,
      { error: expect.objectContaining({ code: 'cost_unknown' }) },
    ])
    expect(one.upstream.requests.length).toBe(before)
  })
})
