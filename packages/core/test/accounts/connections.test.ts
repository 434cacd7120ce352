import { join } from 'node:path'
import type { Connection, Repository } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOwnInstallation } from '../../src/accounts/installations/own-installation.ts'
import { grantLocal } from '../../src/repositories/grant-local.ts'

let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts()
  await sampleRepository(join(accounts.test.dataDir, 'repositories'))
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database
const local = { host: 'local', provider: 'local', account: 'local', accountLogin: 'local' }
const wanted = { host: 'local', account: 'local' }

/** An organization with an integration, and the calls of an administrator on its connections. */
async function organization() {
  const tenant = await createTenant(db())
  const { api } = await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })
  const at = `/api/organizations/${tenant.organizationId}/connections`
  return {
    ...tenant,
    api,
    list: async () => (await api.get<{ connections: Connection[]; available: object[] }>(at)).body,
    add: (body: object = wanted) => api.call<{ connection: Connection; error?: string }>('POST', at, body),
    remove: (id: string) => api.call('DELETE', `${at}/${id}`),
    repositories: async () =>
      (await api.get<{ repositories: Repository[] }>('/cloud/repositories')).body.repositories ?? [],
    audit: async () =>
      (
        await api.get<{ entries: { action: string; target: string }[] }>(
          `/api/organizations/${tenant.organizationId}/audit`,
        )
      ).body.entries.map(({ action, target }) => [action, target]),
  }
}

describe("an organization's own connection", () => {
  it('shares all of an account that an integration reaches, and ends', async () => {
    const at = await organization()
    expect(await at.list()).toMatchObject({ connections: [], available: [] })
    await grantLocal({ db: db(), clock: systemClock }, at)
    expect(await at.list()).toMatchObject({ connections: [], available: [local] })
    expect(await at.repositories()).toEqual([])

    const added = await at.add()
    expect(added).toMatchObject({ status: 201, body: { connection: { ...local, allRepositories: true } } })
    const { id } = added.body.connection
    expect((await at.add()).body.connection.id).toBe(id)
    expect((await at.repositories()).map(({ fullName }) => fullName)).toContain('sample/greeter')
    expect(await at.list()).toMatchObject({
      connections: [{ id, repositories: [{ fullName: 'sample/greeter' }] }],
      available: [],
    })

    expect([(await at.remove(id)).status, (await at.remove(id)).status]).toEqual([204, 204])
    expect(await at.repositories()).toEqual([])
    expect(await at.list()).toMatchObject({ connections: [], available: [local] })
    expect(await at.audit()).toEqual([
      ['connection.removed', `connection ${id}`],
      ['connection.added', `connection ${id}`],
      ['connection.added', `connection ${id}`],
    ])
  })

  it('grants no more of an account than the integrations were granted', async () => {
    const at = await organization()
    await grantRepository(db(), at, local, { repositoryId: '7', fullName: 'only/this' })
    const { connection } = (await at.add()).body
    expect(connection).toMatchObject({ allRepositories: false, repositories: [{ fullName: 'only/this' }] })
  })

  it('cannot be to an account of another organization, nor to one that has ended', async () => {
    const theirs = await organization()
    await grantLocal({ db: db(), clock: systemClock }, theirs)
    const at = await organization()
    expect(outcome(await at.add())).toBe('403 cloud_repository_grant_required')
    await grantLocal({ db: db(), clock: systemClock }, at)
    await db().query('update host_connections set revoked_at = now() where installation_id = $1', [at.installationId])
    expect(outcome(await at.add())).toBe('403 cloud_repository_grant_required')
    expect(await findOwnInstallation(db(), at.organizationId)).toBeNull()
  })

  it('is no other: neither an integration’s nor another organization’s can be ended', async () => {
    const at = await organization()
    await grantLocal({ db: db(), clock: systemClock }, at)
    const theirs = await organization()
    await grantLocal({ db: db(), clock: systemClock }, theirs)
    const foreign = (await theirs.add()).body.connection.id
    const { rows } = await db().query<{ id: string }>('select id from host_connections where installation_id = $1', [
      at.installationId,
    ])
    await at.add()
    for (const id of [foreign, rows[0]?.id ?? '']) {
      expect(outcome(await at.remove(id))).toBe('404 connection_not_found')
    }
    expect((await theirs.list()).connections).toHaveLength(1)
  })

  it('is for administrators alone', async () => {
    const { organizationId } = await organization()
    const { api } = await accounts.person({ organizationId, permissions: ['organization.integrations.manage'] })
    expect(outcome(await api.get(`/api/organizations/${organizationId}/connections`))).toBe('403 insufficient_scope')
  })
})
