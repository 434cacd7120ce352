import { randomUUID } from 'node:crypto'
import type { UsageReport } from '@berth/contract'
import { forecastOf } from '@berth/server/console/usage/usage-time.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let admin: Awaited<ReturnType<Accounts['person']>>
let member: Awaited<ReturnType<Accounts['person']>>
let organizationId: string
/** A Session of the member, on a repository, whose title an agent chose. */
let sessionId: string
let triggerId: string
/** A Session whose caller says that the trigger has made it. */
let pretending: string
beforeAll(async () => {
  accounts = await startAccounts()
  organizationId = accounts.test.tenant.organizationId
  admin = await accounts.person({ role: 'admin' })
  member = await accounts.person({})
  const db = accounts.test.db.database
  triggerId = randomUUID()
  const origin = { objectType: 'trigger', objectId: triggerId }
  sessionId = (await member.api.createSession({ title: '=cmd|"calc", now', origin: { objectType: 'ticket' } })).id
  // The origin that a caller writes makes no trigger pay.
  pretending = (await member.api.createSession({ title: 'Pretends', origin })).id
  await accounts.test.api.put(`/v1/triggers/${triggerId}`, { name: 'Nightly', message: 'Look' })
  await db.query('update sessions set source = $2, trigger_id = $3 where id = $1', [
    sessionId,
    { kind: 'github', repositoryId: '7', label: 'acme/shop' },
    triggerId,
  ])
  const of = { organizationId }
  await spend(
    db,
    { ...of, at: '2026-02-28T23:59:59.999Z', costUsd: 100, personId: admin.who.personId },
    {
      ...of,
      at: '2026-03-01T00:00:00Z',
      costUsd: 0.5,
      model: 'p/large',
      personId: admin.who.personId,
      sessionId: pretending,
    },
    { ...of, at: '2026-03-03T12:00:00Z', costUsd: 2, model: 'p/large', personId: member.who.personId, sessionId },
    { ...of, at: '2026-03-03T13:00:00Z', costUsd: null, personId: member.who.personId, sessionId, outcome: 'failed' },
    { ...of, at: '2026-03-03T23:59:59.999Z', costUsd: 1, installationId: accounts.test.tenant.installationId },
    { ...of, at: '2026-03-04T00:00:00Z', costUsd: 100, personId: admin.who.personId },
  )
  const { tenant } = await accounts.test.newTenant()
  await spend(db, { organizationId: tenant.organizationId, at: '2026-03-03T12:00:00Z', costUsd: 1000 })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const time = 'from=2026-03-01&to=2026-03-03'
const read = async (query: string, api: Api = admin.api) => {
  const answer = await api.get<UsageReport>(`/cloud/usage?${query}`)
  expect(outcome(answer)).toBe('200')
  return answer.body as unknown as UsageReport
}
const all = (by: string) => read(`${time}&whose=organization&by=${by}`)
const shown = ({ groups }: UsageReport) => groups.map(({ kind, id, name, costUsd }) => [kind, id, name, costUsd])

describe('a report of usage', () => {
  it('sums every request of the organization in the days asked for, both included', async () => {
    const { total, days, groups, series } = await all('day')
    expect(total).toEqual({
      requests: 4,
      failed: 1,
      inputTokens: 400,
      cachedInputTokens: 160,
      cacheWriteTokens: 80,
      outputTokens: 40,
      reasoningTokens: 16,
      costUsd: 3.5,
      unknownCost: 1,
    })
    expect(days.map(({ day, costUsd, requests }) => [day, costUsd, requests])).toEqual([
      ['2026-03-01', 0.5, 1],
      ['2026-03-02', 0, 0],
      ['2026-03-03', 3, 3],
    ])
    expect(groups.map(({ id, costUsd }) => [id, costUsd])).toEqual(days.map(({ day, costUsd }) => [day, costUsd]))
    expect(series).toEqual([])
  })

  it('tells models, people, repositories, triggers and Sessions by name, the dearest first', async () => {
    const { installationId } = accounts.test.tenant
    expect(shown(await all('model'))).toEqual([
      ['model', 'p/large', 'p/large', 2.5],
      ['model', 'p/m', 'p/m', 1],
    ])
    expect(shown(await all('person'))).toEqual([
      ['person', member.who.personId, 'Robin Marsh', 2],
      ['installation', installationId, expect.any(String), 1],
      ['person', admin.who.personId, 'Robin Marsh', 0.5],
    ])
    expect(shown(await all('repository'))).toEqual([
      ['repository', 'github:7', 'acme/shop', 2],
      ['none', null, null, 1.5],
    ])
    expect(shown(await all('trigger'))).toEqual([
      ['trigger', triggerId, 'Nightly', 2],
      ['none', null, null, 1.5],
    ])
    expect(shown(await all('session'))).toEqual([
      ['session', sessionId, '=cmd|"calc", now', 2],
      ['none', null, null, 1],
      ['session', pretending, 'Pretends', 0.5],
    ])
  })

  it('tells each day of the dearest groups, in the order of the groups', async () => {
    const { series } = await all('model')
    expect(series).toEqual([
      { costUsd: [0.5, 0, 2], requests: [1, 0, 1], tokens: [110, 0, 110] },
      { costUsd: [0, 0, 1], requests: [0, 0, 2], tokens: [0, 0, 220] },
    ])
  })

  it('lists a hundred groups, and says how many it left out', async () => {
    const { organizationId: crowded } = (await accounts.test.newTenant()).tenant
    const reader = await accounts.person({ organizationId: crowded, role: 'admin' })
    const at = '2026-03-02T00:00:00Z'
    const db = accounts.test.db.database
    await spend(
      db,
      ...Array.from({ length: 103 }, (_, n) => ({ organizationId: crowded, at, model: `p/${n}`, costUsd: n })),
    )
    const { groups, left, total } = await read(`${time}&whose=organization&by=model`, reader.api)
    expect([groups.length, groups[0]?.id, left, total.requests]).toEqual([100, 'p/102', 3, 103])
    const { text } = await reader.api.get(`/cloud/usage/export?${time}&whose=organization&by=model`)
    expect(text.trim().split('\r\n')).toHaveLength(104)
  })

  it("shows a member their own requests, and refuses them everybody's", async () => {
    const own = await read(`${time}&by=session`, member.api)
    expect([own.whose, own.total.requests, own.total.costUsd]).toEqual(['me', 2, 2])
    for (const path of ['usage', 'usage/export']) {
      const refused = await member.api.get(`/cloud/${path}?${time}&whose=organization`)
      expect([outcome(refused), refused.body['requiredScope']]).toEqual([
        '403 insufficient_scope',
        'organization.administer',
      ])
    }
  })

  it('forecasts the month by the last seven days, and counts the pull requests that were merged', async () => {
    const { organizationId: other } = (await accounts.test.newTenant()).tenant
    const [boss, one] = [
      await accounts.person({ organizationId: other, role: 'admin' }),
      await accounts.person({ organizationId: other }),
    ]
    const db = accounts.test.db.database
    const at = new Date().toISOString()
    await spend(
      db,
      { organizationId: other, at, costUsd: 7, personId: one.who.personId },
      { organizationId: other, at, costUsd: 7 },
    )
    const { id } = await one.api.createSession()
    await db.transaction(async tx => {
      // What a Merge stands on is not what is counted.
      await tx.query("set local session_replication_role = 'replica'")
      for (const [pull, status] of [
        [1, 'succeeded'],
        [1, 'succeeded'],
        [2, 'succeeded'],
        [3, 'failed'],
      ] as const) {
        await tx.query(
          `insert into merges (organization_id, session_id, publication_id, id, request_hash, strategy, mode, pull_number,
             head_sha, status, due_at, created_at, updated_at, ended_at)
           values ($1, $2, gen_random_uuid(), gen_random_uuid(), '', 'merge', 'immediate', $3, '', $4, now(), now(), now(), now())`,
          [other, id, pull, status],
        )
      }
    })
    const { forecast, mergedPullRequests } = await read('whose=organization', boss.api)
    expect([forecast.spentUsd, forecast.dayUsd, mergedPullRequests]).toEqual([14, 2, 2])
    expect(forecast.monthUsd).toBeGreaterThanOrEqual(14)
    expect(await read('', one.api)).toMatchObject({ forecast: { spentUsd: 7, dayUsd: 1 }, mergedPullRequests: 2 })
    expect(await read('', boss.api)).toMatchObject({ forecast: { spentUsd: 0 }, mergedPullRequests: 0 })
    const [now, until] = ['2026-11-24T00:00:00Z', '2026-12-01T00:00:00Z'].map(time => new Date(time)) as [Date, Date]
    expect(forecastOf({ month: 30, lately: 14 }, until, now)).toEqual({ spentUsd: 30, dayUsd: 2, monthUsd: 44 })
  })

  it('covers the last thirty days unless it is told', async () => {
    const { days, from, to } = await read('')
    expect([days.length, days[0]?.day, days.at(-1)?.day]).toEqual([30, from, to])
    expect(to).toBe(new Date().toISOString().slice(0, 10))
  })

  it.each(['from=2026-03-02&to=2026-03-01', 'from=2025-03-01&to=2026-03-02', 'from=2026-02-30', 'by=colour', 'to=now'])(
    'refuses %s',
    async query => {
      expect(outcome(await admin.api.get(`/cloud/usage?${query}`))).toBe('400 invalid_request')
    },
  )
})

describe('an export of usage', () => {
  it('has a line for each group of each day, and no text that a spreadsheet would run', async () => {
    const answer = await admin.api.get(`/cloud/usage/export?${time}&whose=organization&by=session`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe(
      'attachment; filename="usage-by-session-2026-03-01-2026-03-03.csv"',
    )
    expect(answer.text.split('\r\n')).toEqual([
      'day,kind,id,name,requests,failed,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cost_usd,requests_of_unknown_cost',
      `2026-03-01,session,${pretending},Pretends,1,0,100,40,20,10,4,0.5,0`,
      `2026-03-03,session,${sessionId},"'=cmd|""calc"", now",2,1,200,80,40,20,8,2,1`,
      '2026-03-03,none,,,1,0,100,40,20,10,4,1,0',
      '',
    ])
  })

  it('names each day', async () => {
    const { text } = await admin.api.get(`/cloud/usage/export?${time}&whose=organization&by=day`)
    expect(text.split('\r\n')[1]).toBe('2026-03-01,day,2026-03-01,2026-03-01,1,0,100,40,20,10,4,0.5,0')
  })
})

it('finds nothing of an organization by the id of another', async () => {
  const stranger = await accounts.person({
    organizationId: (await accounts.test.newTenant()).tenant.organizationId,
    role: 'admin',
  })
  const report = await read(`${time}&whose=organization&by=session`, stranger.api)
  expect([report.total.requests, report.groups]).toEqual([0, []])
})
