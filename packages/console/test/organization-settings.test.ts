import type {
  AdmittedHost,
  Compute,
  OrganizationSettings,
  PricedModelList,
  UpdateOrganizationSettings,
} from '@berth/contract'
import { keepRequests, type RequestRecord } from '@berth/core/accounting/gateway-request-sql.ts'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { findRunBudgets, setRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_RUN_BUDGET_USD: '5', BERTH_AUDIT_DAYS: '90' } })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const none: UpdateOrganizationSettings = {
  dayUsd: null,
  monthUsd: null,
  runCostUsd: null,
  runTurns: null,
  runSeconds: null,
}

/** A new organization and its administrator. */
async function organization() {
  const { organizationId } = (await accounts.test.newTenant()).tenant
  return { organizationId, ...(await accounts.person({ organizationId, role: 'admin' })) }
}

const read = async (api: Api) =>
  (await api.get<OrganizationSettings>('/cloud/settings')).body as unknown as OrganizationSettings
const put = (api: Api, own: Partial<UpdateOrganizationSettings>) => api.put('/cloud/settings', { ...none, ...own })
const db = () => accounts.test.db.database

const record = (organizationId: string, costUsd: number): RequestRecord => ({
  id: crypto.randomUUID(),
  organizationId,
  credentialKind: 'person',
  apiKeyId: null,
  installationId: null,
  personId: null,
  endUserId: null,
  sessionId: null,
  runId: null,
  wire: 'chat',
  provider: 'p',
  model: 'p/m',
  outcome: 'completed',
  errorCode: null,
  usage: null,
  costUsd,
  reservedUsd: null,
  holder: null,
  firstTokenMs: null,
  durationMs: null,
  startedAt: new Date(),
})

/** When the next model request of an organization may be answered; null: now. */
const blockedUntil = async (organizationId: string) => {
  const { rows } = await db().query<{ quota_ends_at: Date | null }>(
    'select quota_ends_at from gateway_allowance($1, null, null, null, null, now())',
    [organizationId],
  )
  return rows[0]?.quota_ends_at ?? null
}

describe('the settings of an organization', () => {
  it('tell what its operator set while it has set nothing', async () => {
    const { api } = await organization()
    expect(await read(api)).toEqual({
      own: none,
      budgets: [],
      commits: {
        author: 'person',
        signOff: false,
        signer: 'deployment',
        hostSigns: false,
        committer: { name: 'Berth', email: 'berth@localhost' },
        publicKey: null,
      },
      run: {
        operator: { costUsd: 5, turns: null, seconds: null },
        effective: { costUsd: 5, turns: null, seconds: null },
      },
      rate: { burst: expect.any(Number), perMinute: expect.any(Number), own: false },
      retention: { auditDays: 90 },
      pullRequests: { section: null, usualSection: expect.stringContaining('{verification}') },
      egress: { neverHosts: [], secretEnvironments: {} },
      followUps: { label: null, assignee: null, baseCommits: null },
    })
  })

  it('count what was spent before a budget was set, and what is spent after', async () => {
    const { api, organizationId } = await organization()
    await spend(db(), { organizationId, at: new Date().toISOString(), costUsd: 3 })
    expect(outcome(await put(api, { dayUsd: 4, monthUsd: 100 }))).toBe('200')
    expect((await read(api)).budgets).toMatchObject([
      { period: 'day', setBy: 'organization', limitUsd: 4, spentUsd: 3 },
      { period: 'month', setBy: 'organization', limitUsd: 100, spentUsd: 3 },
    ])
    expect(await blockedUntil(organizationId)).toBeNull()
    await keepRequests(db(), [record(organizationId, 1)], new Date())
    expect(await blockedUntil(organizationId)).not.toBeNull()
    await put(api, { dayUsd: 50, monthUsd: 100 })
    expect((await read(api)).budgets[0]).toMatchObject({ limitUsd: 50, spentUsd: 4 })
    expect(await blockedUntil(organizationId)).toBeNull()
  })

  it("never loosen or remove an operator's budget, nor does the operator theirs", async () => {
    const { api, organizationId } = await organization()
    await setQuotaOf(db(), { organizationId, period: 'day', limitUsd: 1 }, new Date())
    await put(api, { dayUsd: 10 })
    await keepRequests(db(), [record(organizationId, 2)], new Date())
    expect((await read(api)).budgets.map(({ setBy, limitUsd, spentUsd }) => [setBy, limitUsd, spentUsd])).toEqual([
      ['organization', 10, 2],
      ['operator', 1, 2],
    ])
    expect(await blockedUntil(organizationId)).not.toBeNull()
    await put(api, {})
    expect((await read(api)).budgets.map(({ setBy }) => setBy)).toEqual(['operator'])
    await put(api, { dayUsd: 10 })
    await setQuotaOf(db(), { organizationId, period: 'day', limitUsd: null }, new Date())
    expect((await read(api)).budgets.map(({ setBy }) => setBy)).toEqual(['organization'])
  })

  it('tighten what a Run may use, and never loosen it', async () => {
    const { api, organizationId } = await organization()
    await setRunBudgets(db(), organizationId, { turns: 50 })
    await put(api, { runCostUsd: 9, runTurns: 20, runSeconds: 600 })
    expect((await read(api)).run).toEqual({
      operator: { costUsd: 5, turns: 50, seconds: null },
      effective: { costUsd: 5, turns: 20, seconds: 600 },
    })
    expect(await findRunBudgets(db(), organizationId, { costUsd: 5 })).toEqual({ costUsd: 5, turns: 20, seconds: 600 })
    await setRunBudgets(db(), organizationId, { turns: 10 })
    expect((await read(api)).own).toMatchObject({ runTurns: 20, runSeconds: 600 })
    expect((await read(api)).run.effective.turns).toBe(10)
  })

  it('are saved without counting what was spent, or locking a budget that stays', async () => {
    const { api, organizationId } = await organization()
    await put(api, { dayUsd: 4, monthUsd: 100 })
    await db().transaction(async tx => {
      await tx.query('lock table gateway_requests in access exclusive mode')
      await tx.query("select 1 from gateway_budgets where organization_id = $1 and period = 'month' for update", [
        organizationId,
      ])
      expect(outcome(await put(api, { dayUsd: 5, monthUsd: 100, runTurns: 3 }))).toBe('200')
      expect(outcome(await put(api, { monthUsd: 100 }))).toBe('200')
    })
    expect((await read(api)).own).toEqual({ ...none, monthUsd: 100 })
  })

  it('never wait in a circle with costs that are booked', async () => {
    const { api, organizationId } = await organization()
    await put(api, { dayUsd: 4, monthUsd: 100 })
    for (const period of ['day', 'month', 'total'] as const) {
      await setQuotaOf(db(), { organizationId, period, limitUsd: 50 }, new Date())
    }
    // The first by id is the last that a scan meets.
    const last = '00000000-0000-4000-8000-000000000000'
    await db().query("update gateway_budgets set id = $2 where organization_id = $1 and period = 'total'", [
      organizationId,
      last,
    ])
    const { booked } = await db().transaction(async tx => {
      await tx.query('select 1 from gateway_budgets where id = $1 for update', [last])
      const booked = db().transaction(async booking => {
        // The plan sorts for reasons of its own, until the table grows.
        await booking.query('set local enable_sort = off')
        await keepRequests(booking, [record(organizationId, 2)], new Date())
      })
      await until('the costs wait', async () => {
        const { rows } = await db().query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like '%gateway_requests as g%'`,
        )
        return rows.length > 0
      })
      await tx.query('select 1 from gateway_budgets where organization_id = $1 for update nowait', [organizationId])
      return { booked }
    })
    await booked
    expect((await read(api)).budgets.map(({ spentUsd }) => spentUsd)).toEqual([2, 2, 2, 2, 2])
  })

  it('leave an entry in the audit log that names what changed', async () => {
    const { api, who } = await organization()
    await put(api, { dayUsd: 4 })
    await put(api, { dayUsd: 4 })
    const { body } = await api.get('/cloud/audit?action=organization.budgets_changed')
    expect(Object(body)['entries']).toMatchObject([{ actor: { id: who.personId }, details: { dayUsd: 4 } }])
  })

  it.each([{ dayUsd: 0 }, { runTurns: 1.5 }, { runSeconds: 0 }, { monthUsd: 'much' }, { other: 1 }])(
    'refuse %j',
    async change => {
      const { api } = await organization()
      expect(outcome(await api.put('/cloud/settings', { ...none, ...change }))).toBe('400 invalid_request')
    },
  )

  it('are for administrators, of their own organization alone', async () => {
    const { organizationId, api } = await organization()
    const member = await accounts.person({ organizationId })
    for (const answer of [await member.api.get('/cloud/settings'), await put(member.api, { dayUsd: 1 })]) {
      expect([outcome(answer), answer.body['requiredScope']]).toEqual([
        '403 insufficient_scope',
        'organization.administer',
      ])
    }
    await put(api, { dayUsd: 7 })
    expect((await read((await organization()).api)).own).toEqual(none)
  })
})

it('lists the models of the deployment, and which of them the organization may use', async () => {
  const { api } = await organization()
  const { body } = await api.get<PricedModelList>('/cloud/models')
  expect(body).toMatchObject({ models: [], restricted: false })
})

describe('the compute of an organization', () => {
  const compute = async (api: Api) => (await api.get<Compute>('/cloud/compute')).body as unknown as Compute
  const runOn = (api: Api, runsOn: Compute['runsOn']) => api.put('/cloud/compute', { runsOn })
  const admit = async (api: Api, body: object = { name: 'rack 1' }) =>
    (await api.call<AdmittedHost>('POST', '/cloud/compute/hosts', body)).body as unknown as AdmittedHost
  const session = (api: Api, id: string, message?: string) =>
    api.put(`/v1/sessions/${id}`, {
      ...(message !== undefined && { initialTurn: { id: crypto.randomUUID(), message } }),
    })
  const turn = (api: Api, id: string, turnId: string = crypto.randomUUID()) =>
    api.put(`/v1/sessions/${id}/turns/${turnId}`, { message: 'again' })
  const set = (id: string, columns: string) => db().query(`update hosts set ${columns} where id = $1`, [id])
  /** Ends all Runs as if they had been sealed nowhere and begun never. */
  const settle = (sessionId: string) =>
    db().query("update runs set status = 'cancelled', ended_at = now() where session_id = $1", [sessionId])

  it('is every host until an administrator binds it to its own, which refuses new work while it has none', async () => {
    const { api, organizationId, who } = await organization()
    const tenant = await accounts.test.newTenant()
    const own = (await accounts.person({ organizationId, role: 'admin' })).api
    const [before, turned] = [crypto.randomUUID(), crypto.randomUUID()]
    expect(await compute(api)).toEqual({ runsOn: 'any_host', standing: 'shared', hosts: [] })
    expect(outcome(await session(own, before))).toBe('201')
    expect(outcome(await turn(own, before, turned))).toBe('202')
    await settle(before)

    expect((await runOn(api, 'own_hosts')).body).toEqual({ runsOn: 'own_hosts', standing: 'not_configured', hosts: [] })
    const none = '403 cloud_compute_not_configured'
    expect(outcome(await session(own, crypto.randomUUID(), 'hello'))).toBe(none)
    expect(outcome(await turn(own, before))).toBe(none)
    expect(outcome(await own.put(`/v1/sessions/${before}/workspace`, undefined))).toBe(none)
    // A repeated request gets the same answer as before.
    expect(outcome(await session(own, before))).toBe('200')
    expect(outcome(await turn(own, before, turned))).toBe('202')
    expect(outcome(await session(tenant.api, crypto.randomUUID(), 'hello'))).toBe('201')

    // A machine that never came is none.
    const { host, token } = await admit(api, { name: 'rack 1', capacity: 4, labels: ['disk=nvme'] })
    expect(host).toMatchObject({
      name: 'rack 1',
      pool: 'default',
      capacity: 4,
      labels: ['disk=nvme'],
      state: 'waiting',
    })
    expect(token).toMatch(/^svc_host_/)
    expect(outcome(await turn(own, before))).toBe(none)
    await set(host.id, 'heard_at = now()')
    expect(await compute(api)).toMatchObject({ standing: 'ready', hosts: [{ id: host.id, state: 'ready' }] })
    expect(outcome(await turn(own, before))).toBe('202')
    await settle(before)

    await set(host.id, "refused_protocol = 'berth-host/0'")
    const outdated = '409 cloud_compute_outdated'
    expect(await compute(api)).toMatchObject({ standing: 'outdated', hosts: [{ state: 'outdated' }] })
    expect(outcome(await session(own, crypto.randomUUID(), 'hello'))).toBe(outdated)
    expect(outcome(await turn(own, before))).toBe(outdated)
    expect(outcome(await own.put(`/v1/sessions/${before}/workspace`, undefined))).toBe(outdated)
    // One machine that is welcome is enough.
    const other = await admit(api)
    await set(other.host.id, 'heard_at = now()')
    expect(outcome(await turn(own, before))).toBe('202')

    await runOn(api, 'any_host')
    await runOn(api, 'any_host')
    const { body } = await api.get('/cloud/audit')
    const entries = Object(body)['entries'] as { action: string; actor: { id: string }; details: object }[]
    expect(entries.map(({ action, details }) => [action, details]).toReversed()).toEqual([
      ['organization.compute_changed', { runsOn: 'own_hosts' }],
      ['host.admitted', { name: 'rack 1', pool: 'default', capacity: 4, labels: { disk: 'nvme' } }],
      ['host.admitted', { name: 'rack 1', pool: 'default' }],
      ['organization.compute_changed', { runsOn: 'any_host' }],
    ])
    expect(new Set(entries.map(({ actor }) => actor.id))).toEqual(new Set([who.personId]))
  })

  it('refuses a trial of an environment as well', async () => {
    const { api } = await organization()
    const environment = await new Environments(api).make({ name: 'bound' })
    await runOn(api, 'own_hosts')
    const tried = await api.call('POST', `/cloud/v1/environments/${environment.id}/trials`, {})
    expect(outcome(tried)).toBe('403 cloud_compute_not_configured')
  })

  it('lists, marks and removes its own hosts alone, for administrators alone', async () => {
    const one = await organization()
    const other = await organization()
    const { host } = await admit(one.api)
    const at = `/cloud/compute/hosts/${host.id}`
    const mark = (api: Api, to: string) => api.put(`${at}/mark`, { mark: to })
    expect((await compute(other.api)).hosts).toEqual([])
    expect(outcome(await mark(other.api, 'drained'))).toBe('404 host_not_found')
    expect(outcome(await other.api.call('DELETE', at))).toBe('404 host_not_found')
    await db().query("insert into hosts (id, runtimes, seen_at) values ($1, '{}', now())", [other.organizationId])
    const shared = `/cloud/compute/hosts/${other.organizationId}`
    expect(outcome(await other.api.put(`${shared}/mark`, { mark: 'drained' }))).toBe('404 host_not_found')
    expect(outcome(await other.api.call('DELETE', shared))).toBe('404 host_not_found')

    await set(host.id, 'heard_at = now()')
    for (const [to, state] of [
      ['cordoned', 'cordoned'],
      ['drained', 'drained'],
      ['open', 'ready'],
    ] as const) {
      expect((await mark(one.api, to)).body).toMatchObject({ host: { id: host.id, state } })
    }
    const lease = crypto.randomUUID()
    const held = await one.api.createSession({})
    await db().query(
      `insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
       values ($1, $2, $3, 'remote', $4, 'shell', 'attached', now(), now() + interval '1 hour', now() + interval '1 hour', 1)`,
      [lease, one.organizationId, held.id, host.id],
    )
    expect(outcome(await one.api.call('DELETE', at))).toBe('409 host_in_use')
    const lose = (api: Api) => api.call('POST', `${at}/lost`)
    expect(outcome(await lose(other.api))).toBe('404 host_not_found')
    expect(outcome(await lose(one.api))).toBe('409 host_not_away')
    await set(host.id, "heard_at = now() - interval '2 minutes', seen_at = now() - interval '2 minutes'")
    expect((await lose(one.api)).body).toMatchObject({ host: { id: host.id, state: 'away', sandboxes: 1 } })
    // It came once, so the organization is not told that it has to bring one.
    await runOn(one.api, 'own_hosts')
    expect(await compute(one.api)).toMatchObject({ standing: 'ready' })
    await runOn(one.api, 'any_host')
    await db().query("update leases set state = 'ended', ended_at = now(), end_reason = 'expired' where id = $1", [
      lease,
    ])
    expect(outcome(await one.api.call('DELETE', at))).toBe('204')
    expect((await compute(one.api)).hosts).toEqual([])

    const { api: member } = await accounts.person({ organizationId: one.organizationId })
    const requests = [
      await member.get('/cloud/compute'),
      await runOn(member, 'own_hosts'),
      await member.call('POST', '/cloud/compute/hosts', { name: 'mine' }),
      await mark(member, 'open'),
      await member.call('POST', `${at}/lost`),
      await member.call('DELETE', at),
    ]
    expect(new Set(requests.map(outcome))).toEqual(new Set(['403 insufficient_scope']))
  })

  it.each([
    ['a pool', { name: 'a', pool: 'No Pool' }],
    ['a label', { name: 'a', labels: ['disk'] }],
    ['two labels', { name: 'a', labels: ['disk=a', 'disk=b'] }],
    ['a capacity', { name: 'a', capacity: 0 }],
    ['no name', { name: '' }],
  ])('refuses %s that is not one', async (_, body) => {
    const { api } = await organization()
    expect(outcome(await api.call('POST', '/cloud/compute/hosts', body))).toBe('400 invalid_request')
  })
})
