import type { Session } from '@berth/contract'
import { endHostRest, letHostRest } from '@berth/core/hosts/host-rest-sql.ts'
import { listHosts, markHost } from '@berth/core/hosts/host-sql.ts'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'

const MINUTE_MS = 60_000
/** Longer than the tests take: they end a rest themselves. */
const hostRests = { firstMs: 10 * MINUTE_MS, mostMs: 60 * MINUTE_MS }

let test: TestService
type Organization = Awaited<ReturnType<TestService['newTenant']>>
let one: Organization
beforeAll(async () => {
  test = await startTestService({
    variables: { BERTH_ROLES: 'api,gateway,worker', BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: '0' },
    hostCalls: { shortMs: 3_000, quietMs: 3_000, createMs: 3_000 },
    hostRests,
  })
})
beforeEach(async () => {
  one = await test.newTenant()
})
afterAll(() => test[Symbol.asyncDispose]())

const db = () => test.db.database
const port = () => test.service.hostsPort ?? 0
const sql = <Row extends object>(text: string, ...values: unknown[]) => db().query<Row>({ text, values })
const newToken = () => makeToken(db(), { organizationId: one.tenant.organizationId })
const newHost = async (lies = {}) => new ScriptedHost(await newToken(), prompt => prompt.answer(), lies)
const made = (host: ScriptedHost) => host.calls.filter(([call]) => call === 'create').length
const run = (message = 'hello') => one.api.createSession({ runtime: 'shell' }, message)
const end = ({ id }: Session, count = 1) =>
  until('the end of the Run', async () => {
    const ends = (await one.api.events(id)).filter(({ type }) => /^svc\.run\.(completed|failed|crashed)$/.test(type))
    return ends[count - 1]?.type
  })

interface Rest {
  readonly failures: number
  readonly because: string | null
  /** Until it is over, from now on; null: it does not rest. */
  readonly minutes: number | null
}
const restOf = async (id: string): Promise<Rest> => {
  const { rows } = await sql<Rest>(
    `select failures, rests_because as because,
      case when rests_until > now() then extract(epoch from rests_until - now())::float8 / 60 end as minutes
     from hosts where id = $1`,
    id,
  )
  return rows[0] ?? { failures: -1, because: null, minutes: null }
}
const stateOf = async (host: string) => (await listHosts(db())).find(({ id }) => id === host)
/** Lets the database's clock pass the end of a rest. */
const endOfRest = (id: string) => sql('update hosts set rests_until = now() where id = $1', id)
const failed = (id: string, times: number) =>
  until(`failure ${times}`, async () => {
    const rest = await restOf(id)
    return rest.failures === times && rest
  })

it('keeps a host that hangs thrice out for longer each time, and takes it back once it makes a sandbox', async () => {
  const host = await newHost()
  host.hangs.add('create')
  await using _ = host.keepDialling(port)
  const session = await run()
  // Each time it dials again at once, as if nothing were.
  const pauses = []
  for (const times of [1, 2, 3]) {
    const { because, minutes } = await failed(host.id, times)
    expect(because).toBe('no_answer')
    pauses.push(minutes ?? 0)
    expect(await stateOf(host.id)).toMatchObject({
      state: 'resting',
      restsBecause: 'no_answer',
      restsUntil: expect.any(Date),
    })
    if (times < 3) await endOfRest(host.id)
  }
  // A quarter of each is random, and the wait for this look may have taken some of it.
  const [first = 0, second = 0, third = 0] = pauses
  expect([first > 6 && first <= 10, second > 13 && second <= 20, third > 28 && third <= 40]).toEqual([true, true, true])
  expect(made(host)).toBe(3)
  host.hangs.delete('create')
  await endOfRest(host.id)
  expect(await end(session)).toBe('svc.run.completed')
  expect(await restOf(host.id)).toEqual({ failures: 0, because: null, minutes: null })
})

it('gives a host at rest no Run while another takes them all, and a Run of its own sandbox goes on there', async () => {
  const host = await newHost()
  await using _ = host.keepDialling(port)
  const attached = await run()
  expect(await end(attached)).toBe('svc.run.completed')
  host.hangs.add('create')
  const hung = await run()
  await failed(host.id, 1)
  const other = await newHost()
  await other.dial(port())
  for (const session of [hung, await run(), await run(), await run()])
    expect(await end(session)).toBe('svc.run.completed')
  expect([made(host), made(other)]).toEqual([2, 4])
  await one.api.submitTurn(attached.id, 'again')
  expect(await end(attached, 2)).toBe('svc.run.completed')
  expect([made(host), made(other)]).toEqual([2, 4])
  // An answer in a sandbox of before does not mean that it makes new ones.
  expect(await restOf(host.id)).toMatchObject({ failures: 1, because: 'no_answer' })
  other.dialled?.line.destroy()
})

it('lets a Run wait for the only host, unharmed, until an operator ends its rest', async () => {
  const host = await newHost()
  await using _ = host.keepDialling(port)
  await until('a host', async () => (await stateOf(host.id))?.state === 'ready')
  await letHostRest(db(), host.id, 'line_cut', hostRests)
  const session = await run()
  // A Run of another organization is looked for in the same queue.
  const other = await test.newTenant()
  const foreign = new ScriptedHost(await makeToken(db(), { organizationId: other.tenant.organizationId }), prompt =>
    prompt.answer(),
  )
  await foreign.dial(port())
  const { id } = await other.api.createSession({ runtime: 'shell' }, 'hello')
  await until('its end', async () => (await other.api.events(id)).some(({ type }) => type === 'svc.run.completed'))
  foreign.dialled?.line.destroy()
  const { rows } = await sql('select status, attempts, handovers from runs where session_id = $1', session.id)
  expect(rows).toEqual([{ status: 'queued', attempts: 0, handovers: 0 }])
  expect(made(host)).toBe(0)
  await markHost(db(), host.id, 'open')
  expect((await stateOf(host.id))?.state).toBe('ready')
  expect(await end(session)).toBe('svc.run.completed')
})

it('also lets a host rest whose line breaks while it makes a sandbox', async () => {
  const host = await newHost({ create: async () => host.dialled?.line.destroy() })
  await host.dial(port())
  await run()
  expect(await failed(host.id, 1)).toMatchObject({ because: 'line_cut' })
})

it('counts a failure once, forgets old ones, and bounds the rest', async () => {
  const { id } = await newToken()
  const bounds = { firstMs: MINUTE_MS, mostMs: 10 * MINUTE_MS }
  const fail = () => letHostRest(db(), id, 'no_answer', bounds)
  // As all Runs at one host do at the same time.
  const outcomes = await Promise.all(Array.from({ length: 8 }, fail))
  expect(outcomes.filter(rest => rest !== undefined)).toHaveLength(1)
  const minutes = []
  for (let n = 0; n < 5; n += 1) {
    minutes.push((await restOf(id)).minutes ?? 0)
    await endOfRest(id)
    expect((await restOf(id)).minutes).toBeNull()
    expect(await fail()).toMatchObject({ failures: n + 2 })
  }
  minutes.push((await restOf(id)).minutes ?? 0)
  for (const [n, most] of [1, 2, 4, 8, 10, 10].entries()) {
    expect(minutes[n]).toBeLessThanOrEqual(most)
    expect(minutes[n]).toBeGreaterThan(most * 0.7)
  }
  await sql("update hosts set rests_until = now() - interval '31 minutes' where id = $1", id)
  expect(await fail()).toMatchObject({ failures: 1 })
  await endHostRest(db(), id)
  expect(await restOf(id)).toEqual({ failures: 0, because: null, minutes: null })
  await sql("update hosts set provisioner = 'pods' where id = $1", id)
  expect(await fail()).toBeUndefined()
})
