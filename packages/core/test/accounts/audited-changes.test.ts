import { randomUUID } from 'node:crypto'
import { addGrant, revokeGrants } from '@berth/server/admin/grants.ts'
import { setBudgets, setQuota } from '@berth/server/admin/spending.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let accounts: Accounts
let boss: Api
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account' } })
  boss = (await accounts.person({ role: 'admin' })).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const organization = () => accounts.test.tenant.organizationId
const asOperator = () => ({ DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir })

/** The audit log's entries of an action, as its administrators read them. */
async function entries(action: string) {
  const path = `/api/organizations/${organization()}/audit?limit=50&action=${action}`
  return (await boss.get<{ entries: object[] }>(path)).body.entries
}

it('the audit log tells who wrote environments and their secrets, never a value', async () => {
  const id = randomUUID()
  const path = `/v1/environments/${id}`
  const put = (rest: string, body: object, seen?: number, method = 'PUT') =>
    accounts.test.api.call(method, `${path}${rest}`, body, seen === undefined ? {} : { 'if-match': `"${seen}"` })
  expect(outcome(await put('', { document: { name: 'Nightly' } }))).toBe('201')
  expect(outcome(await put('/secrets/TOKEN', { value: 'of-nobody-else' }, 1))).toBe('200')
  const by = { kind: 'app_installation', id: accounts.test.tenant.installationId }
  const target = `environment/${id}`
  expect(await entries('environment.written')).toMatchObject([
    { actor: by, target, details: { revision: 2 } },
    { actor: by, target, details: { revision: 1 } },
  ])
  const secrets = await entries('environment.secret_written')
  expect(secrets).toMatchObject([{ actor: by, target, details: { name: 'TOKEN', version: 1 } }])
  expect(JSON.stringify(secrets)).not.toContain('of-nobody-else')
})

it('the audit log tells of the default environment, and of grants', async () => {
  const path = `/v1/environments/${randomUUID()}`
  const id = path.slice(-36)
  expect(outcome(await boss.call('PUT', path, { document: { name: 'Daily' } }))).toBe('201')
  expect(outcome(await boss.call('PUT', '/v1/organization/default-environment', { id }))).toBe('200')
  const [chosen] = await entries('environment.written')
  expect(chosen).toMatchObject({ target: `environment/${id}`, details: { isDefault: true } })
  const granted = await addGrant(asOperator(), { organizationId: organization(), host: 'local', repositories: [] })
  await revokeGrants(asOperator(), granted.id)
  for (const action of ['repository_grant.added', 'repository_grant.revoked'])
    expect(await entries(action)).toMatchObject([{ actor: { kind: 'operator' } }])
})

it('the audit log tells who archived a Session, once', async () => {
  const session = await accounts.test.api.createSession()
  for (let n = 0; n < 2; n += 1) {
    expect((await accounts.test.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
  }
  expect(await entries('session.archived')).toMatchObject([{ target: `session/${session.id}`, outcome: 'done' }])
})

it('the audit log tells what operators set for an organization', async () => {
  await setBudgets(asOperator(), organization(), { costUsd: 3 })
  await setQuota(asOperator(), { organizationId: organization(), period: 'day', limitUsd: 7 })
  const target = `organization/${organization()}`
  const actor = { kind: 'operator', name: 'berth admin' }
  expect(await entries('budget.changed')).toMatchObject([{ actor, target, details: { costUsd: 3 } }])
  expect(await entries('quota.changed')).toMatchObject([{ actor, target, details: { period: 'day', limitUsd: 7 } }])
})
