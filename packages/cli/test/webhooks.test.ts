import { verifyWebhook } from '@berth/client'
import { Receiver, ScriptedNetwork, until } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Home, PeopleService } from './people-service.ts'

const network = new ScriptedNetwork()
const origin = 'http://127.0.0.1:9000'
let receiver: Receiver
let service: PeopleService
let home: Home
let of: readonly string[]

beforeAll(async () => {
  receiver = await Receiver.open(null)
  network.ports.set('127.0.0.1:9000', receiver.port)
  const variables = { BERTH_ROLES: 'api,account,worker' }
  service = await PeopleService.start({ variables, network, config: { webhooks: { allow: [origin] } } })
  home = await Home.make()
  const { organizationId, appSlug, installationId } = service.test.tenant
  const permissions = ['organization.applications.manage'] as const
  await home.signIn(service, await service.newPerson(organizationId, { permissions }), '--profile', 'publisher')
  of = ['--app', appSlug, '--installation', installationId]
})
afterAll(async () => {
  await home[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

/** Runs `berth webhooks …` on the tenant's installation. */
const webhooks = (...args: readonly string[]) => home.run('webhooks', ...args, ...of)

/** Runs a command that succeeds, with `--json`, and returns what its lines say. */
async function output(...args: readonly string[]) {
  const { code, stdout, stderr } = await webhooks(...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return stdout
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
}

const typesArrived = () => receiver.received.map(({ body }) => JSON.parse(body.toString()).type)

/** Waits until as many requests have arrived and every delivery of the endpoint has ended. */
const arrived = (count: number, endpoint: string) =>
  until(`${count} requests`, async () => {
    if (receiver.received.length < count) return false
    return (await output('deliveries', endpoint)).every(({ status }) => status !== 'pending')
  })

test('a person adds an endpoint, sees what is delivered, sends it again, and removes the endpoint', async () => {
  const added = await webhooks('add', `${origin}/hook`, '--families', 'run')
  expect([added.code, added.stderr]).toEqual([0, ''])
  const [secret = ''] = /whsec_[\w-]{43}/.exec(added.stdout) ?? []
  const [, endpoint = ''] = /Endpoint +(\S+)/.exec(added.stdout) ?? []
  expect(added.stdout).toContain('shown this once')
  expect(added.stdout).toContain(`berth webhooks ping ${endpoint} ${of.join(' ')}\n`)
  const [listed] = await output('list')
  expect(listed).toMatchObject({ id: endpoint, url: `${origin}/hook`, families: ['run'] })
  const shown = await webhooks('list')
  expect(shown.stdout).toMatch(new RegExp(`^${endpoint}\trun\t.*\t${origin}/hook\n$`))
  expect(JSON.stringify(listed) + shown.stdout).not.toContain(secret)

  const session = await service.test.api.createSession({ runtime: 'shell' }, 'echo hello')
  await arrived(2, endpoint)
  expect(typesArrived().toSorted()).toEqual(['svc.run.completed', 'svc.run.started'])
  for (const { body, signature } of receiver.received) {
    expect(await verifyWebhook(body, signature, secret)).toMatchObject({ verified: true })
  }
  const table = (await webhooks('deliveries', endpoint)).stdout.split('\n')
  expect(table.slice(0, -1).map(row => row.split('\t').slice(1))).toEqual(
    expect.arrayContaining(
      ['started', 'completed'].map(end => [`svc.run.${end}`, session.id, 'succeeded', '1', '204', '-']),
    ),
  )
  expect(table).toHaveLength(3)
  expect(await output('deliveries', endpoint, '--limit', '1')).toHaveLength(1)

  receiver.answer = response => response.writeHead(500).end()
  const [delivery] = await output('deliveries', endpoint, '--status', 'succeeded', '--limit', '1')
  const again = await webhooks('redeliver', endpoint, delivery.id)
  expect([again.code, again.stdout]).toEqual([0, `${delivery.id}\n`])
  const [pending] = await until('an attempt that fails', async () => {
    const all = await output('deliveries', endpoint, '--status', 'pending')
    return all[0]?.attempts.length === 2 && all
  })
  expect(pending).toMatchObject({ id: delivery.id, attempts: [{ status: 204 }, { status: 500 }] })
  const failing = (await webhooks('deliveries', endpoint, '--status', 'pending')).stdout
  expect(failing).toMatch(new RegExp(`^${delivery.id}\t.*\tpending\t2\t500\t${pending.nextAttemptAt}\n$`))
  expect((await webhooks('list')).stdout).toMatch(/\b500\b/)

  receiver.answer = response => response.writeHead(204).end()
  await output('redeliver', endpoint, delivery.id)
  await arrived(4, endpoint)
  await output('ping', endpoint)
  await arrived(5, endpoint)
  expect(typesArrived().at(-1)).toBe('svc.webhook.ping')
  const replayed = await webhooks('replay', endpoint, '--session', session.id)
  expect([replayed.code, replayed.stdout]).toEqual([0, '2 events are due\n'])
  await arrived(7, endpoint)
  expect(await output('replay', endpoint, '--session', session.id, '--after', '1000')).toEqual([{ queued: 0 }])
  expect(await output('deliveries', endpoint, '--status', 'succeeded')).toHaveLength(3)

  const removed = await webhooks('remove', endpoint)
  expect([removed.code, removed.stdout]).toEqual([0, `endpoint ${endpoint} is gone\n`])
  const none = await webhooks('list')
  expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'berth: the installation has no endpoints\n'])
  const gone = await webhooks('ping', endpoint)
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('berth webhooks list')])
})

test('deliveries beyond one page are listed by its cursor', async () => {
  const [{ endpoint }] = await output('add', `${origin}/many`, '--families', 'artifact')
  await service.query(
    `insert into webhook_deliveries (endpoint_id, organization_id, body, status, ended_at, due_at, created_at)
     select $1, $2, '{"id":"0191d5a0-0000-7000-8000-000000000001","type":"svc.webhook.ping"}', 'succeeded', $3, $3, $3
     from generate_series(1, 130)`,
    [endpoint.id, service.test.tenant.organizationId, new Date()],
  )
  const ids = (await output('deliveries', endpoint.id, '--limit', '120')).map(({ id }) => id)
  expect(new Set(ids).size).toBe(120)
  expect(await output('deliveries', endpoint.id, '-n', '500')).toHaveLength(130)
  await output('remove', endpoint.id)
})

test('others find nothing, and every refusal says what to do', async () => {
  const [{ endpoint }] = await output('add', `${origin}/hook`)
  const { tenant } = await service.test.newTenant()
  const stranger = await service.newPerson(tenant.organizationId, { role: 'admin' })
  await home.signIn(service, stranger, '--profile', 'stranger')
  const member = await service.newPerson()
  await home.signIn(service, member, '--profile', 'member')
  const every = [
    ['list'],
    ['add', `${origin}/hook`],
    ['remove', endpoint.id],
    ['deliveries', endpoint.id],
    ['redeliver', endpoint.id, endpoint.id],
    ['replay', endpoint.id, '--session', endpoint.id],
    ['ping', endpoint.id],
  ]
  for (const refused of await Promise.all(every.map(args => webhooks(...args, '--profile', 'stranger')))) {
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/berth whoami.*\(installation_not_found\)\n$/)
  }
  const may = await webhooks('list', '--profile', 'member')
  expect([may.code, may.stderr]).toEqual([1, expect.stringContaining('permission organization.applications.manage')])

  const publisher = (...args: readonly string[]) => webhooks(...args, '--profile', 'publisher')
  const url = await publisher('add', 'http://10.0.0.1/')
  expect([url.code, url.stderr]).toEqual([1, expect.stringMatching(/https URLs of public hosts.*\(invalid_url\)/)])
  const lost = await publisher('redeliver', endpoint.id, endpoint.id)
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('berth webhooks replay')])
  const family = await publisher('add', origin, '--families', 'message')
  expect([family.code, family.stderr]).toEqual([2, expect.stringContaining('run, interaction, artifact, publication')])
  const key = await webhooks('list', '--url', service.url, '--key', service.test.tenant.apiKey)
  expect([key.code, key.stderr]).toEqual([2, expect.stringContaining('sign in with `berth login`')])
  const help = await home.run('webhooks', 'add', '--help')
  expect(help.stdout).toContain(
    'berth webhooks add https://hooks.example.com/berth --families run,interaction --app my-app',
  )
  expect(JSON.stringify(await output('list', '--profile', 'publisher'))).toContain(endpoint.id)
})
