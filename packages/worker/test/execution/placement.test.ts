import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { bindToOwnHosts } from '@berth/core/runtimes/own-hosts.ts'
import { installedRuntimes } from '@berth/core/runtimes/runtime-hosts.ts'
import { insertLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { insertQueuedRuns } from '@berth/testing/runs/queued-rows.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type ClaimBounds, claimRun } from '../../src/claim/claim-queued-sql.ts'
import { chooseHost, type Pending } from '../../src/claim/placement-sql.ts'
import { RuntimeAnnouncer } from '../../src/host/runtime-announcer.ts'
import { Sweeper } from '../../src/host/sweeper.ts'
import { Worker } from '../../src/worker.ts'

let test: TestService
let stack = new AsyncDisposableStack()
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
afterAll(() => test[Symbol.asyncDispose]())
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
  await db().query("update runs set status = 'cancelled', ended_at = now() where ended_at is null")
  await db().query("update executions set task = null, run_id = null, expires_at = 'epoch'")
  await db().query("update leases set state = 'ended', ended_at = now(), end_reason = 'expired' where ended_at is null")
  await db().query('delete from processes')
  await db().query('delete from hosts')
  await db().query('delete from organization_limits')
})

const db = () => test.db.database
/** Long enough that no worker takes over from another, and that none of its heartbeats falls into a test. */
const PATIENT_MS = 2_400_000

async function queue(count: number): Promise<Session[]> {
  const sessions = []
  for (let n = 0; n < count; n += 1) sessions.push(await test.api.createSession({ runtime: 'shell' }, 'sleep 600'))
  return sessions
}

const host = (
  id: string,
  columns: { capacity?: number; cordoned?: boolean; organization?: string; heldBy?: string } = {},
) =>
  db().query(
    `insert into hosts (id, runtimes, seen_at, capacity, cordoned_at, organization_id, connected_to)
     values ($1, '{}', now(), $2, case when $3 then now() end, $4, $5)`,
    [id, columns.capacity ?? null, columns.cordoned ?? false, columns.organization ?? null, columns.heldBy ?? null],
  )

const none = { pending: [], away: [] }

/**
 * Claims Runs one by one as a worker does, and chooses a host for each. It leaves others as long as it takes to workers that are
 * nearer, unless the test says otherwise.
 */
async function claim(id: string, more: Partial<ClaimBounds> & { hosts?: readonly string[]; most?: number } = {}) {
  const { hosts = [id], most = 8, headStartMs = 3_600_000, away = [] } = more
  const pending: Pending[] = [...(more.pending ?? [])]
  const taken: string[] = []
  for (;;) {
    const by = { holder: id, hosts, now: new Date() }
    const { claim: next, isLeft } =
      taken.length < most ? await claimRun(db(), by, { headStartMs, pending, away }) : { claim: null, isLeft: false }
    if (next === null) return { taken, isLeft }
    const { organizationId, sessionId, leaseHost } = next
    taken.push(sessionId)
    const at = leaseHost ?? (await chooseHost(db(), hosts, next, { pending, away }))
    if (leaseHost === null) pending.push({ organizationId, sessionId, host: at ?? '' })
  }
}

const held = async () => {
  const { rows } = await db().query<{ holder: string; count: number }>(
    'select holder, count(*)::integer as count from executions where task is not null group by holder order by holder',
  )
  return rows
}

it('begins nothing at a host whose line is cut', async () => {
  await host('a')
  await queue(1)
  expect(await claim('a', { away: ['a'] })).toEqual({ taken: [], isLeft: false })
  expect((await claim('a')).taken).toHaveLength(1)
})

it('gives a burst to every worker with free hands, and none more than it has', async () => {
  for (const name of ['left', 'right']) {
    const dataDir = await mkdtemp(join(test.dataDir, `${name}-`))
    const creates: Promise<void>[] = []
    const driver = (real: SandboxDriver): SandboxDriver => ({
      ...real,
      create: spec => {
        const created = real.create(spec)
        creates.push(created)
        return created
      },
    })
    const limits = { fenceMs: PATIENT_MS, concurrency: 4 }
    const context = await workerContext({ db: test.db, dataDir }, stack, { limits, driver })
    stack.defer(async () => {
      // A worker that stops leaves them, and here nobody sweeps.
      await Promise.allSettled(creates)
      for (const leaseId of await context.driver.list()) await context.driver.destroy(leaseId)
    })
    for (const service of [new RuntimeAnnouncer(context), new Worker(context)]) await stack.use(service).start()
  }
  await Promise.all(Array.from({ length: 8 }, () => queue(1)))
  const counts = await until('eight claims', async () => {
    const each = (await held()).map(({ count }) => count)
    return each.reduce((sum, count) => sum + count, 0) === 8 && each
  })
  expect(counts).toEqual([4, 4])
})

it('gives each Run to one of the workers that ask at once', async () => {
  for (const id of ['a', 'b', 'c']) await host(id)
  const sessions = await queue(9)
  const claims = await Promise.all(['a', 'b', 'c'].map(id => claim(id)))
  // One that finds all others' Runs locked comes again.
  const rest = await claim('a', { most: 9 })
  const taken = [...claims, rest].flatMap(each => each.taken)
  expect(taken.toSorted()).toEqual(sessions.map(({ id }) => id).toSorted())
})

it('gives a Run at once to the host of its last sandbox, and to anybody soon', async () => {
  for (const id of ['a', 'b']) await host(id)
  const [first, second, fresh] = await queue(3)
  if (first === undefined || second === undefined || fresh === undefined) throw new Error('no sessions')
  for (const { organizationId, id } of [first, second]) await lease(organizationId, id, 'a', true)
  expect(await claim('b')).toEqual({ taken: [fresh.id], isLeft: true })
  expect(await claim('a', { most: 1 })).toMatchObject({ taken: [first.id] })
  expect(await claim('b')).toEqual({ taken: [], isLeft: true })
  await db().query("update runs set due_at = due_at - interval '1 hour' where session_id = $1", [second.id])
  expect(await claim('b')).toEqual({ taken: [second.id], isLeft: false })
})

it.each([
  ['is cordoned', 'cordoned_at = now()'],
  ['rests', "rests_until = now() + interval '1 hour'"],
  ['is away', "seen_at = now() - interval '1 hour'"],
])('waits for no host that %s', async (_, change) => {
  for (const id of ['a', 'last']) await host(id)
  const [session] = await queue(1)
  if (session === undefined) throw new Error('no session')
  await lease(session.organizationId, session.id, 'last', true)
  expect((await claim('a')).taken).toEqual([])
  await db().query(`update hosts set ${change} where id = 'last'`)
  expect((await claim('a')).taken).toEqual([session.id])
})

it('is looked at again by a worker that left it to one which does not come', async () => {
  const [session] = await queue(1)
  if (session === undefined) throw new Error('no session')
  await db().query("update runs set status = 'cancelled', ended_at = now() where ended_at is null")
  await lease(session.organizationId, session.id, 'gone', true)
  const context = await workerContext(test, stack, {
    // It polls and writes its row only after the test has failed.
    limits: { fenceMs: PATIENT_MS, pollMs: PATIENT_MS },
    driver: real => ({ ...real, create: () => new Promise<never>(() => undefined) }),
  })
  for (const id of ['gone', context.host]) await host(id)
  await stack.use(new Worker(context)).start()
  await test.api.submitTurn(session.id, 'true')
  await until('a claim', async () => (await held()).length === 1)
})

it('lets organizations take turns, so that the burst of one holds up no other', async () => {
  await host('a')
  await queue(80)
  const others = [(await test.newTenant()).api, (await test.newTenant()).api]
  const late: string[] = []
  for (const api of [...others, ...others])
    late.push((await api.createSession({ runtime: 'shell' }, 'sleep 600')).organizationId)
  const [first, second] = late
  const own = test.tenant.organizationId
  const taken = async (count: number) => {
    const { taken: sessions } = await claim('a', { most: count })
    const { rows } = await db().query<{ organization_id: string }>(
      'select organization_id from sessions where id = any ($1)',
      [sessions],
    )
    return rows.map(row => row.organization_id).sort()
  }
  // One of each, then those with fewer at work.
  expect(await taken(3)).toEqual([own, first, second].sort())
  expect(await taken(4)).toEqual([own, own, first, second].sort())
  expect(await taken(10)).toEqual(Array(10).fill(own))
  await others[0]?.createSession({ runtime: 'shell' }, 'sleep 600')
  expect(await taken(1)).toEqual([first])
})

it('lets no organization wait behind very many others', async () => {
  await host('a')
  const { rows: organizations } = await db().query<{ id: string }>(`
    insert into organizations (id, name, created_at) select md5(n::text)::uuid, n::text, now() from generate_series(1, 100) n returning id`)
  await insertQueuedRuns(
    db(),
    organizations.map(({ id }) => id),
    200,
  )
  await db().query('analyze runs')
  let claims = 0
  await until('a Run of every organization', async () => {
    claims += (await claim('a')).taken.length
    const { rows } = await db().query<{ count: number }>(
      "select count(distinct organization_id)::integer as count from runs where status = 'dispatching'",
    )
    return rows[0]?.count === 100
  })
  // Each has had its turn before any had its third.
  expect(claims).toBeLessThan(3 * 100)
})

it('begins nothing at a host that rests, and goes on with what it has', async () => {
  await host('tired', { heldBy: 'w' })
  await host('well')
  await db().query("update hosts set rests_until = now() + interval '1 hour' where id = 'tired'")
  const [attached, fresh] = await queue(2)
  if (attached === undefined || fresh === undefined) throw new Error('no sessions')
  await lease(attached.organizationId, attached.id, 'tired')
  const key = { organizationId: fresh.organizationId, sessionId: fresh.id }
  expect(await chooseHost(db(), ['tired', 'well'], key, none)).toBe('well')
  // A Run that has begun has to go on somewhere.
  expect(await chooseHost(db(), ['tired'], key, none)).toBe('tired')
  expect((await claim('w', { hosts: ['tired'] })).taken).toEqual([attached.id])
  expect((await claim('well')).taken).toEqual([fresh.id])
})

it('begins again at a host whose rest is over', async () => {
  await host('tired', { heldBy: 'w' })
  await db().query("update hosts set rests_until = now() - interval '1 second', failures = 3 where id = 'tired'")
  const [session] = await queue(1)
  expect((await claim('w', { hosts: ['tired'] })).taken).toEqual([session?.id])
})

it('takes no more than its hosts have room for, and none for a host that is cordoned', async () => {
  await host('small', { capacity: 3, heldBy: 'w' })
  await host('closed', { capacity: 9, heldBy: 'w', cordoned: true })
  const sessions = await queue(5)
  const [first] = sessions
  if (first === undefined) throw new Error('no session')
  await lease(first.organizationId, first.id, 'closed')
  const pending = [{ organizationId: first.organizationId, sessionId: randomUUID(), host: 'small' }]
  const { taken, isLeft } = await claim('w', { hosts: ['small', 'closed'], pending })
  expect(taken).toHaveLength(3)
  expect(taken).toContain(first.id)
  expect(isLeft).toBe(false)
})

it('takes no more of an organization than the hosts that take it have room for', async () => {
  const own = (await queue(3)).map(({ id }) => id)
  const { api } = await test.newTenant()
  const others: string[] = []
  for (let n = 0; n < 2; n += 1) others.push((await api.createSession({ runtime: 'shell' }, 'sleep 600')).id)
  await host('own', { organization: test.tenant.organizationId, capacity: 1, heldBy: 'w' })
  await host('shared', { capacity: 1, heldBy: 'w' })
  await bindToOwnHosts(db(), test.tenant.organizationId, true, new Date())
  const { taken } = await claim('w', { hosts: ['own', 'shared'] })
  expect(taken.toSorted()).toEqual([own[0], others[0]].toSorted())
})

it('uses the host of another organization for none of its own', async () => {
  const [session] = await queue(1)
  if (session === undefined) throw new Error('no session')
  const { rows } = await db().query<{ id: string }>(
    "insert into organizations (id, name, created_at) values (gen_random_uuid(), 'other', now()) returning id",
  )
  await host('theirs', { organization: rows[0]?.id ?? '', heldBy: 'w' })
  expect((await claim('w', { hosts: ['theirs'] })).taken).toEqual([])
  await host('own', { organization: session.organizationId, capacity: 2, heldBy: 'w' })
  await host('shared', { heldBy: 'w' })
  const key = { organizationId: session.organizationId, sessionId: session.id }
  // The line to every other host may have been cut since the claim.
  expect(await chooseHost(db(), ['theirs'], key, none)).toBeNull()
  expect(await chooseHost(db(), ['theirs', 'shared', 'own'], key, none)).toBe('own')
  expect((await claim('w', { hosts: ['theirs', 'own'] })).taken).toEqual([session.id])
})

it('runs an organization that is bound to its own hosts there alone', async () => {
  const [session, another] = await queue(2)
  const organizationId = session?.organizationId ?? ''
  const key = { organizationId, sessionId: session?.id ?? '' }
  const tenant = await test.newTenant()
  const others = await tenant.api.createSession({ runtime: 'shell' }, 'true')
  await host('shared', { heldBy: 'w' })
  await host('own', { organization: organizationId, heldBy: 'w', cordoned: true })
  await bindToOwnHosts(db(), organizationId, true, new Date())
  expect((await claim('w', { hosts: ['shared', 'own'] })).taken).toEqual([others.id])
  expect(await chooseHost(db(), ['shared', 'unannounced'], key, none)).toBeNull()
  const write = (at: string) =>
    insertLease(db(), key, {
      // bound: nothing ends the leases of these rows
      ...{ id: randomUUID(), driver: 'bubblewrap', host: at, runtime: 'shell', idleMs: 1, maxMs: 1, now: new Date() },
    })
  for (const at of ['shared', 'unannounced']) await expect(write(at)).rejects.toThrow(/does not work for/)
  expect(await installedRuntimes(db(), systemClock, organizationId)).toEqual(new Set())
  await db().query("update hosts set runtimes = '{shell}' where id = 'shared'")
  expect(await installedRuntimes(db(), systemClock, organizationId)).toEqual(new Set())
  await db().query("update hosts set cordoned_at = null where id = 'own'")
  expect(await chooseHost(db(), ['shared', 'own'], key, none)).toBe('own')
  expect((await claim('w', { hosts: ['shared', 'own'] })).taken.toSorted()).toEqual(
    [key.sessionId, another?.id ?? ''].toSorted(),
  )
  expect((await write('own')).host).toBe('own')
})

it('gives sandboxes of a bound organization back that rest on hosts of everybody', async () => {
  const context = await workerContext(test, stack)
  await host(context.host)
  const tenant = await test.newTenant()
  const [session] = await queue(1)
  const other = await tenant.api.createSession({ runtime: 'shell' }, 'true')
  await db().query("update runs set status = 'cancelled', ended_at = now() where ended_at is null")
  const own = context.hosts.of(context.host)
  context.hosts.add({ ...own, driver: { ...own.driver, stateOf: async () => 'frozen', list: async () => [] } })
  for (const { organizationId, id } of [session ?? other, other]) await lease(organizationId, id, context.host)
  await db().query("update leases set expires_at = now() + interval '1 hour' where ended_at is null")
  const left = async () => {
    const { rows } = await db().query<{ id: string }>('select session_id as id from leases where ended_at is null')
    return rows.map(({ id }) => id)
  }
  await bindToOwnHosts(db(), session?.organizationId ?? '', true, new Date())
  await new Sweeper(context).round()
  expect(await left()).toEqual([other.id])
  // A Turn that comes before the sweep does the same.
  const { rows } = await db().query<{ organization_id: string }>(
    "update leases set state = 'attached', ended_at = null, end_reason = null where session_id = $1 returning organization_id",
    [session?.id],
  )
  await host('own', { organization: rows[0]?.organization_id ?? '' })
  await test.api.submitTurn(session?.id ?? '', 'true')
  expect(await left()).toEqual([other.id])
})

it('asks only hosts of the organization which machines have a runtime', async () => {
  const [session] = await queue(1)
  const { rows } = await db().query<{ id: string }>(
    "insert into organizations (id, name, created_at) values (gen_random_uuid(), 'evil', now()) returning id",
  )
  await host('theirs', { organization: rows[0]?.id ?? '', heldBy: 'w' })
  await host('a')
  await db().query("update hosts set runtimes = '{shell,claude-code}' where id = 'theirs'")
  const own = session?.organizationId ?? ''
  expect([...(await installedRuntimes(db(), systemClock, own))]).toEqual([])
  expect([...(await installedRuntimes(db(), systemClock, rows[0]?.id ?? ''))]).toEqual(['shell', 'claude-code'])
  expect((await claim('a')).taken).toEqual([session?.id])
})

it('chooses a host that has the runtime, however much room another has', async () => {
  const [session] = await queue(1)
  const key = { organizationId: session?.organizationId ?? '', sessionId: session?.id ?? '' }
  for (const [id, capacity] of [['roomy', 90] as const, ['able', 2] as const]) await host(id, { capacity })
  expect(await chooseHost(db(), ['roomy', 'able'], key, none)).toBe('roomy')
  await db().query("update hosts set runtimes = '{other,shell}' where id = 'able'")
  expect(await chooseHost(db(), ['roomy', 'able'], key, none)).toBe('able')
})

it('makes no sandbox at the host of another organization, and gives the claim back for the pause alone', async () => {
  const [session] = await queue(1)
  const { rows } = await db().query<{ id: string }>(
    "insert into organizations (id, name, created_at) values (gen_random_uuid(), 'stranger', now()) returning id",
  )
  const context = await workerContext(test, stack, { limits: { fenceMs: PATIENT_MS, pollMs: PATIENT_MS } })
  await host(context.host)
  await host('theirs', { organization: rows[0]?.id ?? '' })
  const { hosts } = context
  const own = hosts.of(context.host)
  const made: string[] = []
  const create = async ({ leaseId }: { leaseId: string }) => void made.push(leaseId)
  hosts.add({ ...own, id: 'theirs', driver: { ...own.driver, create } })
  // The line to the only host for the Run is cut between the claim and the work, and stands again while the Run may not start yet.
  const query: typeof context.db.query = async (statement, values) => {
    const result = await context.db.query<never>(statement, values)
    const name = typeof statement === 'object' ? statement.name : undefined
    if (name === 'claim-run' && hosts.of(context.host) === own) hosts.remove(context.host)
    if (name === 'choose-host' && !hosts.holds(context.host))
      hosts.add({ ...own, driver: { ...own.driver, create: () => new Promise<never>(() => undefined) } })
    return result
  }
  const watched = { query, transaction: context.db.transaction.bind(context.db), masterKey: context.db.masterKey }
  const worker = stack.use(new Worker({ ...context, db: watched }))
  await worker.start()
  await until('the claim was given back, cost the Run no attempt, and is taken again', async () => {
    const given = await db().query(
      `select from executions e join leases l using (session_id)
      where e.session_id = $1 and e.task = 'run' and e.token = 2 and e.attempt = 1 and l.host <> 'theirs'`,
      [session?.id],
    )
    return given.rowCount === 1
  })
  expect(made).toEqual([])
  expect((await db().query('select from leases where session_id = $1', [session?.id])).rowCount).toBe(1)
})

it('is given back whole if its host goes away while it makes the sandbox', async () => {
  const [session] = await queue(1)
  const context = await workerContext(test, stack, { limits: { fenceMs: PATIENT_MS } })
  await host(context.host)
  const { hosts } = context
  const own = hosts.of(context.host)
  const requested = Promise.withResolvers<void>()
  const create = () => {
    requested.resolve()
    return new Promise<never>(() => undefined)
  }
  hosts.add({ ...own, driver: { ...own.driver, create } })
  const worker = stack.use(new Worker(context))
  await worker.start()
  await requested.promise
  hosts.remove(context.host)
  await until('the Run waits for another host', async () => {
    const given = await db().query(
      `select from runs r join leases l using (session_id)
      where r.session_id = $1 and r.status = 'queued' and r.attempts = 0 and r.handovers = 1 and l.end_reason = 'abandoned'`,
      [session?.id],
    )
    return given.rowCount === 1
  })
})

it('is swept although another host never answers', async () => {
  const context = await workerContext(test, stack)
  const own = context.hosts.of(context.host)
  const requested = Promise.withResolvers<void>()
  const never = () => {
    requested.resolve()
    return new Promise<never>(() => undefined)
  }
  context.hosts.add({ ...own, id: 'silent', driver: { ...own.driver, kind: 'remote', stateOf: never, list: never } })
  for (const id of [context.host, 'silent']) await host(id)
  const [one, two] = await queue(2)
  if (one === undefined || two === undefined) throw new Error('no sessions')
  await db().query("update runs set status = 'cancelled', ended_at = now() where ended_at is null")
  await lease(one.organizationId, one.id, 'silent')
  await db().query("update leases set expires_at = now() + interval '1 hour' where host = 'silent'")
  await stack.use(new Sweeper(context)).start()
  await requested.promise
  await lease(two.organizationId, two.id, context.host)
  await until('the lease of the other host has ended', async () => {
    const { rows } = await db().query('select from leases where host = $1 and ended_at is null', [context.host])
    return rows.length === 0
  })
})

const lease = (organizationId: string, sessionId: string, at: string, ended = false) =>
  db().query(
    `insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at,
       idle_ms, ended_at, end_reason)
     values (gen_random_uuid(), $1, $2, 'bubblewrap', $3, 'shell', case when $4 then 'ended' else 'attached' end, now(),
       now(), now(), 1, case when $4 then now() end, case when $4 then 'expired' end)`,
    [organizationId, sessionId, at, ended],
  )
