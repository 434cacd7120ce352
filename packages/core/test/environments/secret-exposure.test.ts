import { randomUUID } from 'node:crypto'
import type { SecretEgress, WriteSecret } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeOf } from '../../src/environments/secrets.ts'

let accounts: Accounts
let mine: Environments
beforeAll(async () => {
  accounts = await startAccounts()
  mine = new Environments(accounts.test.api)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const egress: SecretEgress = { hosts: ['api.example.com'], put: { header: 'Authorization' } }
const stored = { hosts: ['api.example.com'], put: { header: 'Authorization', format: 'Bearer {value}' }, setup: false }
const value = 'sk-0123456789abcdef'

/** Makes an environment with the secret KEY; the next write names revision 2. */
async function withKey(body: WriteSecret) {
  const { id, name } = await mine.make()
  const written = await mine.putSecret(id, 'KEY', body, 1)
  expect(outcome(written)).toBe('200')
  return { id, name }
}

describe('a secret at the edge', () => {
  it('tells its rule wherever its version is pinned, and never its value', async () => {
    const { id, name } = await withKey({ value, egress })
    const pin = { name: 'KEY', version: 1, exposure: 'egress', egress: stored }
    const read = await mine.read(id)
    expect(read.body.environment).toMatchObject({ secrets: [pin], document: { secrets: [pin] } })
    expect(read.body.environment.warnings).toEqual([])
    await mine.putSecret(id, 'KEY', { value: 'another value', exposure: 'variable' }, 2)
    const revisions = await accounts.test.api.get(`/v1/environments/${id}/revisions`)
    expect(revisions.body).toMatchObject({
      revisions: [{ secrets: [{ version: 2, exposure: 'variable' }] }, { secrets: [pin] }, { secrets: [] }],
    })
    expect([read.text, revisions.text].filter(text => text.includes(value))).toEqual([])
    const { rows } = await accounts.test.db.database.query<{ text: string }>(
      `select r::text as text from environment_revisions r union all select s::text from environment_secrets s
       union all select a::text from audit_log a`,
    )
    expect(rows.filter(({ text }) => text.includes(value))).toEqual([])
    // Pins that a caller has read may be sent back, and only those that are the newest.
    const [now] = (await mine.read(id)).body.environment.secrets
    expect(outcome(await mine.put(id, { name, setup: 'true', secrets: [now] }, 3))).toBe('200')
    for (const other of [
      { ...pin, version: 2 },
      { ...now, exposure: 'egress' },
      { ...now, egress },
    ]) {
      const { body } = await mine.put(id, { name, setup: 'false', secrets: [other] }, 4)
      expect(body).toMatchObject({ error: 'environment_invalid', issues: [{ path: ['document', 'secrets'] }] })
    }
  })

  it('stays one when its value is rotated', async () => {
    const { id } = await withKey({ value, exposure: 'egress', egress })
    const { body } = await mine.writeSecret(id, 'KEY', 'sk-rotated-0123456789', 2)
    expect(body.environment.secrets).toEqual([{ name: 'KEY', version: 2, exposure: 'egress', egress: stored }])
  })

  it('keeps its value where a change sends it to no other request, under a version of its own', async () => {
    const { id } = await withKey({ value })
    expect((await mine.putSecret(id, 'KEY', { egress }, 2)).body.environment.secrets).toMatchObject([
      { version: 2, exposure: 'egress' },
    ])
    const narrow = { ...egress, methods: ['GET'], paths: ['/v1'] }
    const { environment } = (await mine.putSecret(id, 'KEY', { egress: narrow }, 3)).body
    expect(environment).toMatchObject({ revision: 4, secrets: [{ version: 3, egress: narrow }] })
    const { rows } = await accounts.test.db.database.query<{ sealed: Buffer }>(
      'select sealed from environment_secrets where environment_id = $1 and ended_at is null',
      [id],
    )
    const place = placeOf({ organizationId: accounts.test.tenant.organizationId, environmentId: id }, 'KEY', 3)
    expect(accounts.masterKey.open(rows[0]?.sealed ?? Buffer.alloc(0), place).toString()).toBe(value)
  })

  it.each<[string, WriteSecret]>([
    ['to programs', { exposure: 'variable' }],
    ['to another host', { egress: { ...egress, hosts: ['api.example.com', 'collect.example.org'] } }],
    ['to every name of a domain', { egress: { ...egress, hosts: ['*.example.com'] } }],
    ['to another place', { egress: { ...egress, put: { query: 'key' } } }],
  ])('needs its value to be opened %s', async (_, body) => {
    const { id } = await withKey({ value, egress })
    const refused = await mine.putSecret(id, 'KEY', body, 2)
    expect([outcome(refused), refused.body]).toMatchObject([
      '400 environment_invalid',
      { issues: [{ path: ['value'], message: expect.stringContaining('could not go before') }] },
    ])
    expect((await mine.read(id)).body.environment.revision).toBe(2)
    expect(outcome(await mine.putSecret(id, 'KEY', { ...body, value }, 2))).toBe('200')
  })

  it('is refused without a value if that was destroyed or cannot be opened', async () => {
    const { id } = await withKey({ value })
    await accounts.test.db.database.query("update environment_secrets set sealed = 'x' where environment_id = $1", [id])
    const { body } = await mine.putSecret(id, 'KEY', { egress }, 2)
    expect(body).toMatchObject({ issues: [{ path: ['value'], message: expect.stringContaining('cannot be opened') }] })
  })

  it('is not made of a variable whose value stands in no header', async () => {
    const { id } = await withKey({ value: 'two\nlines' })
    const { body } = await mine.putSecret(id, 'KEY', { egress }, 2)
    expect(body).toMatchObject({ error: 'environment_invalid', issues: [{ path: ['value'] }] })
  })
})

const hosts = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example.com`)

it.each<[string, object, string]>([
  ['no value of a new secret', { egress }, 'value'],
  ['no hosts', { value, egress: { ...egress, hosts: [] } }, 'egress.hosts'],
  ['17 hosts', { value, egress: { ...egress, hosts: hosts(17) } }, 'egress.hosts'],
  ['an address', { value, egress: { ...egress, hosts: ['93.184.216.34'] } }, 'egress.hosts.0'],
  ['an address of IPv6', { value, egress: { ...egress, hosts: ['[2606:4700::1]'] } }, 'egress.hosts.0'],
  ['every host', { value, egress: { ...egress, hosts: ['*'] } }, 'egress.hosts.0'],
  ['every host of a domain', { value, egress: { ...egress, hosts: ['*.com'] } }, 'egress.hosts.0'],
  ['a pattern in the middle', { value, egress: { ...egress, hosts: ['a.*.com'] } }, 'egress.hosts.0'],
  ['a host in upper case', { value, egress: { ...egress, hosts: ['API.example.com'] } }, 'egress.hosts.0'],
  ['a host of other letters', { value, egress: { ...egress, hosts: ['münchen.de'] } }, 'egress.hosts.0'],
  ['a host with a port', { value, egress: { ...egress, hosts: ['example.com:8443'] } }, 'egress.hosts.0'],
  ['a private host', { value, egress: { ...egress, hosts: ['vault.internal'] } }, 'egress.hosts.0'],
  ['an unknown method', { value, egress: { ...egress, methods: ['TRACE'] } }, 'egress.methods.0'],
  ['no methods', { value, egress: { ...egress, methods: [] } }, 'egress.methods'],
  ['a relative path', { value, egress: { ...egress, paths: ['v1'] } }, 'egress.paths.0'],
  ['a path with a query', { value, egress: { ...egress, paths: ['/v1?a'] } }, 'egress.paths.0'],
  ['a path that leads up', { value, egress: { ...egress, paths: ['/v1/../x'] } }, 'egress.paths.0'],
  ['no place', { value, egress: { hosts: ['a.org'], put: {} } }, 'egress.put'],
  ['two places', { value, egress: { hosts: ['a.org'], put: { header: 'X', query: 'key' } } }, 'egress.put'],
  [
    'a format without the value',
    { value, egress: { ...egress, put: { header: 'X', format: 'a' } } },
    'egress.put.format',
  ],
  [
    'a format with a line break',
    { value, egress: { ...egress, put: { header: 'X', format: 'a\n{value}' } } },
    'egress.put.format',
  ],
  ['a header with a colon', { value, egress: { ...egress, put: { header: 'X:' } } }, 'egress.put.header'],
  ['the header Host', { value, egress: { ...egress, put: { header: 'Host' } } }, 'egress.put.header'],
  ['a user with a colon', { value, egress: { ...egress, put: { basic: { user: 'a:b' } } } }, 'egress.put.basic.user'],
  ['a parameter with =', { value, egress: { ...egress, put: { query: 'a=b' } } }, 'egress.put.query'],
  ['an unknown member', { value, egress: { ...egress, ports: [443] } }, 'egress.ports'],
  ['an unknown exposure', { value, exposure: 'file' }, 'exposure'],
  ['a rule of a variable', { value, exposure: 'variable', egress }, 'egress'],
  ['the exposure alone', { value, exposure: 'egress' }, 'egress'],
  ['a line break', { value: `${value}\n`, egress }, 'value'],
  ['a control character', { value: 'a\u0001b', egress }, 'value'],
  ['8193 bytes', { value: 'v'.repeat(8193), egress }, 'value'],
  ['more than 32 KiB', { value: 'v'.repeat(32_769) }, 'value'],
])('a write of a secret is refused for %s', async (_, body, path) => {
  const { id } = await mine.make()
  const answer = await mine.putSecret(id, 'KEY', body, 1)
  expect(outcome(answer)).toBe('400 environment_invalid')
  const { issues } = answer.body as unknown as { issues: { path: (string | number)[] }[] }
  expect(issues.map(issue => issue.path.join('.'))).toContain(path)
  expect((await mine.read(id)).body.environment.revision).toBe(1)
})

it('a write of nothing is refused', async () => {
  const { id } = await withKey({ value, egress })
  expect(outcome(await mine.putSecret(id, 'KEY', {}, 2))).toBe('400 invalid_request')
})

it('is a secret of its tenant alone, and of those who may manage environments', async () => {
  const { id } = await withKey({ value, egress })
  const { api } = await accounts.test.newTenant()
  expect(outcome(await new Environments(api).putSecret(id, 'KEY', { value, egress }, 2))).toBe(
    '404 environment_not_found',
  )
  expect(outcome(await mine.putSecret(randomUUID(), 'KEY', { value, egress }, 2))).toBe('404 environment_not_found')
  const { organizationId, appSlug } = accounts.test.tenant
  const held = ['svc.cloud.access', 'svc.cloud.sessions:create', 'environments:use'] as const
  const { apiKey } = await createInstallation(accounts.test.db.database, organizationId, appSlug, held)
  const user = new Environments(new Api(accounts.test.url, apiKey))
  expect(outcome(await user.putSecret(id, 'KEY', { value, egress }, 2))).toBe('403 insufficient_scope')
})
