import { randomUUID } from 'node:crypto'
import type { Health } from '@berth/contract'
import { bindToOwnHosts } from '@berth/core/runtimes/own-hosts.ts'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let accounts: Accounts
let admin: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = await startAccounts()
  admin = await accounts.person({ role: 'admin' })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const read = async (api: Api = admin.api) => (await api.get<Health>('/cloud/health')).body as unknown as Health
const change = (text: string, ...values: readonly unknown[]) => accounts.test.db.database.query(text, values)

const host = { driver: 'bubblewrap', runtimes: ['claude-code'], patienceMs: 300_000, packagesFault: null }

it('tells which hosts are at work, and which are away', async () => {
  const db = accounts.test.db.database
  const before = (ms: number) => new Date(Date.now() - ms)
  await announceHost(db, { ...host, id: 'a' }, new Date())
  await announceHost(db, { ...host, id: 'b', packagesFault: 'no overlay' }, before(90_000))
  await announceHost(db, { ...host, id: 'c' }, before(8 * 24 * 3_600_000))
  const { hosts } = await read()
  expect(hosts.map(({ name, away, runtimes, packagesFault }) => [name, away, runtimes, packagesFault])).toEqual([
    ['a', false, ['claude-code'], null],
    ['b', true, ['claude-code'], 'no overlay'],
  ])
})

it('tells what waits, works and has ended, of its own organization alone', async () => {
  const { organizationId } = accounts.test.tenant
  const [queued, works, ended] = [
    await admin.api.createSession({ title: 'Waits' }, 'a'),
    await admin.api.createSession({ title: 'Works' }, 'b'),
    await admin.api.createSession({ title: 'Ended' }, 'c'),
  ]
  await change(`update runs set status = 'running' where session_id = $1`, works.id)
  await change(`update runs set status = 'crashed', ended_at = now() where session_id = $1`, ended.id)
  // A fork is made after the Runs that it has copied had ended.
  const fork = await admin.api.createSession({ title: 'Fork' }, 'd')
  await change(`update runs set status = 'completed', ended_at = now() where session_id = $1`, fork.id)
  await change(`update sessions set created_at = now() + interval '1 second' where id = $1`, fork.id)
  await change(
    `insert into leases (organization_id, session_id, id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
     values ($1, $2, $3, 'bubblewrap', 'a', 'shell', 'attached', now(), now() + interval '1 hour', now(), 1)`,
    organizationId,
    works.id,
    randomUUID(),
  )
  await change(
    `insert into workspace_requests (organization_id, session_id, requested_at) values ($1, $2, now())`,
    organizationId,
    ended.id,
  )
  const at = new Date().toISOString()
  await spend(accounts.test.db.database, { organizationId, at }, { organizationId, at, outcome: 'failed' })
  const health = await read()
  expect(health).toMatchObject({
    runs: { queued: 1, dispatching: 0, running: 1, awaiting: 0, oldest: [{ sessionId: queued.id, title: 'Waits' }] },
    ended: { completed: 0, failed: 0, cancelled: 0, crashed: 1 },
    leases: [{ sessionId: works.id, title: 'Works', host: 'a', runtime: 'shell', state: 'attached', working: true }],
    liveLeases: 1,
    models: { requests: 2, failed: 1 },
  })
  expect(health.backlogs.map(({ kind, waiting }) => [kind, waiting])).toEqual([
    ['workspace', 1],
    ['review', 0],
    ['publication', 0],
    ['merge', 0],
    ['webhook', 0],
  ])
  expect(health.hosts[0]).toMatchObject({ name: 'a', leases: 1 })

  const { tenant } = await accounts.test.newTenant()
  const stranger = await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })
  const { hosts, ...theirs } = await read(stranger.api)
  expect(theirs).toMatchObject({
    runs: { queued: 0, running: 0, oldest: [] },
    ended: { crashed: 0 },
    leases: [],
    liveLeases: 0,
    models: { requests: 0 },
  })
  expect(hosts.map(({ leases }) => leases)).toEqual([0, 0])

  // Bound to their own machines, they see only the hosts that still hold a sandbox of theirs.
  await announceHost(accounts.test.db.database, { ...host, id: 'own' }, new Date())
  await change(`update hosts set organization_id = $1 where id = 'own'`, tenant.organizationId)
  expect((await read()).hosts.map(({ name }) => name)).toEqual(['a', 'b'])
  for (const id of [organizationId, tenant.organizationId]) {
    await bindToOwnHosts(accounts.test.db.database, id, true, new Date())
  }
  expect((await read(stranger.api)).hosts.map(({ name }) => name)).toEqual(['own'])
  expect((await read()).hosts.map(({ name }) => name)).toEqual(['a'])
})
