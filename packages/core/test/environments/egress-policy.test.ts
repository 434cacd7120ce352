import { randomUUID } from 'node:crypto'
import type { Event, OrganizationSettings } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let accounts: Accounts
let admin: Awaited<ReturnType<Accounts['person']>>
let mine: Environments
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } })
  admin = await accounts.person({ role: 'admin' })
  mine = new Environments(accounts.test.api)
})
afterAll(() => accounts[Symbol.asyncDispose]())
beforeEach(async () => {
  expect(outcome(await set({ neverHosts: [], secretEnvironments: {} }))).toBe('200')
})

const set = (egress: object, api: Api = admin.api) => api.put('/cloud/settings', { egress })
const read = async (api: Api = admin.api) =>
  ((await api.get('/cloud/settings')).body as unknown as OrganizationSettings).egress
const egressTo = (...hosts: string[]) => ({ value: 'a long value', egress: { hosts, put: { header: 'X-Key' } } })

describe("an organization's policy", () => {
  it('is set by administrators, a member at a time, and the audit log tells', async () => {
    const { id } = await mine.make()
    const [member, stranger] = [
      await accounts.person({ role: 'member' }),
      await accounts.person({ organizationId: (await accounts.test.newTenant()).tenant.organizationId, role: 'admin' }),
    ]
    expect(await read()).toEqual({ neverHosts: [], secretEnvironments: {} })
    expect(outcome(await set({ neverHosts: ['paste.example.org'] }, member.api))).toBe('403 insufficient_scope')
    expect(outcome(await set({ neverHosts: ['paste.example.org'] }))).toBe('200')
    expect(outcome(await set({ secretEnvironments: { DEPLOY_KEY: [id.toUpperCase()] } }))).toBe('200')
    const policy = { neverHosts: ['paste.example.org'], secretEnvironments: { DEPLOY_KEY: [id] } }
    expect(await read()).toEqual(policy)
    // What is the same, or of something else, is no change.
    await set(policy)
    await admin.api.put('/cloud/settings', { dayUsd: 7 })
    expect(await read()).toEqual(policy)
    expect(await read(stranger.api)).toEqual({ neverHosts: [], secretEnvironments: {} })
    const { body } = await admin.api.get('/cloud/audit?action=organization.egress_changed&limit=2')
    expect(Object(body)['entries']).toMatchObject([
      { actor: { id: admin.who.personId }, details: policy },
      { details: { neverHosts: ['paste.example.org'], secretEnvironments: {} } },
    ])
  })

  it.each<[string, object, string]>([
    ['nothing', {}, 'egress'],
    ['an address', { neverHosts: ['10.0.0.1'] }, 'egress.neverHosts.0'],
    ['every host', { neverHosts: ['*'] }, 'egress.neverHosts.0'],
    ['a host in upper case', { neverHosts: ['Example.org'] }, 'egress.neverHosts.0'],
    ['a private host', { neverHosts: ['a.example.org', 'db.internal'] }, 'egress.neverHosts.1'],
    ['no name of a secret', { secretEnvironments: { '1A': [] } }, 'egress.secretEnvironments'],
    ['no id', { secretEnvironments: { A: ['web'] } }, 'egress.secretEnvironments.A.0'],
    ['an unknown environment', { secretEnvironments: { A: [randomUUID()] } }, 'egress.secretEnvironments.A.0'],
  ])('is refused with %s', async (_, policy, path) => {
    const answer = await set(policy)
    expect(outcome(answer)).toBe('400 invalid_request')
    const { issues } = answer.body as unknown as { issues: { path: (string | number)[] }[] }
    expect(issues.some(issue => issue.path.join('.').startsWith(path))).toBe(true)
  })

  it("is refused with another organization's environment", async () => {
    const { api } = await accounts.test.newTenant()
    const foreign = await new Environments(api).make()
    expect(outcome(await set({ secretEnvironments: { A: [foreign.id] } }))).toBe('400 invalid_request')
  })

  it.each(['paste.example.org', '*.example.org', '*.paste.example.org'])(
    'that closes *.paste.example.org and paste.example.org lets no environment name %s',
    async host => {
      await set({ neverHosts: ['paste.example.org', '*.paste.example.org'] })
      const network = { mode: 'listed', hosts: ['api.example.com', host] }
      const refused = await mine.put(randomUUID(), { name: `n ${randomUUID()}`, network })
      expect(refused.body).toMatchObject({
        error: 'environment_invalid',
        issues: [{ path: ['document', 'network', 'hosts', 1], message: expect.stringContaining('an administrator') }],
      })
      const { id } = await mine.make()
      const secret = await mine.putSecret(id, 'KEY', egressTo('api.example.com', host), 1)
      expect(secret.body).toMatchObject({
        error: 'environment_invalid',
        issues: [{ path: ['egress', 'hosts', 1], message: expect.stringContaining('an administrator') }],
      })
      expect(outcome(await mine.putSecret(id, 'KEY', egressTo('api.example.com'), 1))).toBe('200')
    },
  )

  it('refuses to restore a revision that names what it closes', async () => {
    const { id, name } = await mine.make({ network: { mode: 'listed', hosts: ['paste.example.org'] } })
    await mine.put(id, { name }, 1)
    await set({ neverHosts: ['paste.example.org'] })
    expect(outcome(await mine.restore(id, 1, 2))).toBe('400 environment_invalid')
  })

  it('keeps a secret for the environments that it names', async () => {
    const [kept, other] = [await mine.make(), await mine.make()]
    await set({ secretEnvironments: { DEPLOY_KEY: [kept.id], constructor: [] } })
    expect(outcome(await mine.writeSecret(kept.id, 'DEPLOY_KEY', 'a long value', 1))).toBe('200')
    expect(outcome(await mine.writeSecret(other.id, 'OTHER_KEY', 'a long value', 1))).toBe('200')
    expect(outcome(await mine.writeSecret(other.id, 'toString', 'a long value', 2))).toBe('200')
    for (const name of ['DEPLOY_KEY', 'constructor']) {
      const { body } = await mine.writeSecret(other.id, name, 'a long value', 3)
      expect(body).toMatchObject({
        error: 'environment_invalid',
        issues: [{ path: ['name'], message: expect.stringContaining('an administrator') }],
      })
    }
  })
})

describe('a policy that comes later', () => {
  const dataOf = (events: readonly Event[], type: string) =>
    events.filter(event => event.type === type).map(({ data }) => data)

  it('is warned of, and counts from the next fresh sandbox on', async () => {
    const { api, db } = accounts.test
    const made = await mine.make({ network: { mode: 'open', hosts: ['paste.example.org', 'api.example.com'] } })
    await mine.writeSecret(made.id, 'DEPLOY_KEY', 'deploy value', 1)
    const written = await mine.putSecret(made.id, 'KEY', egressTo('paste.example.org'), 2)
    expect(written.body.environment.warnings).toEqual([])
    const message = 'echo "[$DEPLOY_KEY]"'
    const run = async () => {
      const session = await api.createSession({ runtime: 'shell', environment: { id: made.id } }, message)
      const events = await api.runEnded(session.id, session.activeRunId ?? '')
      const { rows } = await db.database.query<{ never_hosts: string[]; secrets_left_out: string[]; names: string[] }>(
        `select never_hosts, secrets_left_out, jsonb_path_query_array(environment_secrets, '$[*].name') as names
         from leases where session_id = $1`,
        [session.id],
      )
      return { lease: rows[0], applies: dataOf(events, 'svc.environment.apply'), events }
    }
    const before = await run()
    expect(before.lease).toEqual({ never_hosts: [], secrets_left_out: [], names: ['DEPLOY_KEY', 'KEY'] })
    expect(dataOf(before.events, 'svc.activity.completed')[0]).toMatchObject({ output: '[[secret]]\n' })
    expect(before.applies.map(data => 'secretsLeftOut' in data)).toEqual([false, false])
    await set({ neverHosts: ['paste.example.org'], secretEnvironments: { DEPLOY_KEY: [] } })
    expect((await mine.read(made.id)).body.environment.warnings).toEqual([
      { path: ['document', 'network', 'hosts', 0], message: expect.stringContaining('closed by the organization') },
      { path: ['secrets', 'DEPLOY_KEY'], message: expect.stringContaining('kept for other environments') },
      { path: ['secrets', 'KEY'], message: expect.stringContaining('closed by the organization') },
    ])
    const after = await run()
    expect(after.lease).toEqual({
      never_hosts: ['paste.example.org'],
      secrets_left_out: ['DEPLOY_KEY'],
      names: ['KEY'],
    })
    expect(dataOf(after.events, 'svc.activity.completed')[0]).toMatchObject({ output: '[]\n' })
    const leftOut = [{ name: 'DEPLOY_KEY', reason: 'policy' }]
    expect(after.applies).toMatchObject([
      { status: 'started', secretsLeftOut: leftOut },
      { status: 'succeeded', secretsLeftOut: leftOut },
    ])
    // A sandbox without an environment does not reach the host either.
    const bare = await api.createSession({ runtime: 'shell' }, 'true')
    await api.runEnded(bare.id, bare.activeRunId ?? '')
    const { rows } = await db.database.query('select never_hosts from leases where session_id = $1', [bare.id])
    expect(rows).toEqual([{ never_hosts: ['paste.example.org'] }])
  })
})
