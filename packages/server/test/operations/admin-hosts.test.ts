import { createHash } from 'node:crypto'
import { hearProcess } from '@berth/platform/processes/process-sql.ts'
import { activitiesOf } from '@berth/testing/runs/ended-run.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { RuntimeAnnouncer } from '@berth/worker/host/runtime-announcer.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { admitHost, declareHostLost, readHosts, removeHost, setHost } from '../../src/admin/hosts.ts'

let bench: Resuming
let variables: Record<string, string>
let stack = new AsyncDisposableStack()
beforeAll(async () => {
  bench = await Resuming.open()
  variables = { DATABASE_URL: databaseUrl(bench.test.db) }
})
afterAll(() => bench[Symbol.asyncDispose]())
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
  await db().query('delete from hosts')
})

const db = () => bench.test.db.database
const stateOf = async (id: string) => (await readHosts(variables)).find(host => host.id === id)?.state
const audited = async (id: string) => {
  const { rows } = await db().query<{ action: string; details: object; organization_id: string | null }>(
    'select action, details, organization_id from audit_log where target = $1 order by at',
    [`host/${id}`],
  )
  return rows
}

it('admits a host with a token that only its maker sees', async () => {
  const { rows } = await db().query<{ id: string }>('select id from organizations limit 1')
  const organizationId = rows[0]?.id ?? ''
  const { id, token } = await admitHost(variables, {
    ...{ name: 'rack-1', organizationId, pool: 'gpu' },
    ...{ capacity: '6', labels: ['disk=nvme'] },
  })
  const [host] = await readHosts(variables)
  expect(host).toMatchObject({
    id,
    name: 'rack-1',
    organizationId,
    pool: 'gpu',
    capacity: 6,
    labels: { disk: 'nvme' },
    state: 'waiting',
    dials: true,
    leases: 0,
  })
  const digest = createHash('sha256').update(token).digest()
  const stored = await db().query('select 1 from hosts where id = $1 and token_sha256 = $2', [id, digest])
  expect(stored.rowCount).toBe(1)
  expect(await audited(id)).toEqual([
    {
      action: 'host.admitted',
      details: { name: 'rack-1', pool: 'gpu', capacity: 6, labels: { disk: 'nvme' } },
      organization_id: organizationId,
    },
  ])
  expect(JSON.stringify([await readHosts(variables), await audited(id)])).not.toContain(token)
  await removeHost(variables, id)
  expect(await readHosts(variables)).toEqual([])
  expect((await audited(id)).map(({ action }) => action)).toEqual(['host.admitted', 'host.removed'])
})

it.each([
  ['a name of two lines', () => admitHost(variables, { name: 'a\nb' }), /one line/],
  ['another form of a pool', () => admitHost(variables, { name: 'a', pool: 'No Pool' }), /a pool is/],
  ['no capacity', () => admitHost(variables, { name: 'a', capacity: '0' }), /a capacity is/],
  ['another form of a label', () => admitHost(variables, { name: 'a', labels: ['=x'] }), /a label is/],
  ["nobody's organization", () => admitHost(variables, { name: 'a', organizationId: 'nobody' }), /no organization/],
  ['a mark on no host', () => setHost(variables, 'nobody', 'drained'), /no host/],
  ['the loss of no host', () => declareHostLost(variables, 'nobody'), /no host/],
  ['the removal of no host', () => removeHost(variables, 'nobody'), /no host/],
])('refuses %s', async (_, work, reason) => {
  await expect(work()).rejects.toThrow(reason)
})

it('empties a host that is drained, without losing work, and fills it again', async () => {
  const context = await bench.work(stack)
  await stack.use(new RuntimeAnnouncer(context)).start()
  const { session } = await bench.sealed('shell', 'echo kept > note')
  const unsealed = await bench.sealed('shell', 'echo only here > note')
  // As if its seal had been given up.
  await db().query('delete from checkpoints where session_id = $1', [unsealed.session.id])
  expect(await stateOf(context.host)).toBe('ready')
  await setHost(variables, context.host, 'cordoned')
  expect(await stateOf(context.host)).toBe('cordoned')
  // The Session goes on in the sandbox that it has.
  expect((await bench.next(session, 'test -e note')).run.status).toBe('completed')
  await expect(removeHost(variables, context.host)).rejects.toThrow(/drain it first/)
  await setHost(variables, context.host, 'drained')
  const stateIn = async ({ id }: { id: string }) => (await bench.api.session(id)).workspace.state
  await until('the sandbox to be given back', async () => (await stateIn(session)) === 'expired')
  expect(await stateIn(unsealed.session)).toBe('attached')
  await bench.api.call('DELETE', `/v1/sessions/${unsealed.session.id}`)
  await until('an empty host', async () => (await stateOf(context.host)) === 'drained')
  await until('no sandbox', async () => (await context.driver.list()).length === 0)
  await expect(removeHost(variables, context.host)).rejects.toThrow(/stop it first/)
  const { run } = await bench.api.submitTurn(session.id, 'cat note')
  await setHost(variables, context.host, 'open')
  expect((await bench.settled(session, run.id)).run.status).toBe('completed')
})

it('lets Sessions of a host that an operator calls lost go on at once, from their checkpoints', async () => {
  const context = await bench.work(stack)
  await stack.use(new RuntimeAnnouncer(context)).start()
  const [rested, queued] = [
    await bench.sealed('shell', 'echo kept > note'),
    await bench.sealed('shell', 'echo kept as well > note'),
  ]
  // As after the restore of a database: the host of the dump has the sandboxes, and is silent.
  await db().query(`
    insert into hosts (id, driver, runtimes, seen_at, patience, heard_at)
    values ('of-the-dump', 'bubblewrap', '{}', now() - interval '2 minutes', '5 minutes', now() - interval '2 minutes')`)
  const sessions = [rested, queued].map(({ session }) => session.id)
  const moved = await db().query<{ id: string }>(
    "update leases set host = 'of-the-dump' where session_id = any ($1) and ended_at is null returning id",
    [sessions],
  )
  expect(moved.rows).toHaveLength(2)
  const { run } = await bench.api.submitTurn(queued.session.id, 'cat note')
  // Another Run that is queued later has been claimed and has ended, so the first was looked at.
  expect((await bench.sealed('shell', 'true')).run.status).toBe('completed')
  expect((await bench.api.run(queued.session.id, run.id)).status).toBe('queued')
  await expect(declareHostLost(variables, context.host)).rejects.toThrow(/within the last minute; stop it for good/)
  expect(await declareHostLost(variables, 'of-the-dump')).toBe(2)
  expect(await stateOf('of-the-dump')).toBe('away')
  const ended = await bench.settled(queued.session, run.id)
  expect([ended.run.status, activitiesOf(ended)[0]?.['output']]).toEqual(['completed', 'kept as well\n'])
  await until('the end of both leases', async () => {
    const { rows } = await db().query(
      "select end_reason from leases where id = any ($1) and ended_at is not null and end_reason = 'lost'",
      [moved.rows.map(({ id }) => id)],
    )
    return rows.length === 2
  })
  const next = await bench.next(rested.session, 'cat note')
  expect([next.run.status, activitiesOf(next)[0]?.['output']]).toEqual(['completed', 'kept\n'])
  expect(await audited('of-the-dump')).toEqual([
    { action: 'host.lost', details: { sandboxes: 2 }, organization_id: null },
  ])
})

it('does not call a host lost whose connection a living process has', async () => {
  const holder = { id: 'a-process', host: 'a-machine', roles: ['worker'], release: null, patienceMs: 240_000 }
  await hearProcess(db(), holder)
  await db().query(
    `insert into hosts (id, runtimes, seen_at, heard_at, connected_to)
     values ('held', '{}', now(), now() - interval '2 minutes', $1)`,
    [holder.id],
  )
  await expect(declareHostLost(variables, 'held')).rejects.toThrow(/is connected/)
  await db().query("update hosts set connected_to = 'a-process-that-died' where id = 'held'")
  expect(await declareHostLost(variables, 'held')).toBe(0)
})
