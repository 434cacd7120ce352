import { createClient, createInstallationTokens } from '@berth/client'
import { type Accounts, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts()
})
afterAll(() => accounts[Symbol.asyncDispose]())

it("opens the API and the gateway to an app's backend until its installation is revoked", async () => {
  const { test } = accounts
  const { tenant } = test
  const publisher = (await accounts.person({ role: 'admin' })).api
  const key = await makeAppKey()
  await publisher.call('POST', `/api/apps/${tenant.appSlug}/keys`, { publicKeyPem: key.publicKeyPem })
  let aheadMs = 0
  const tokens = createInstallationTokens({
    authUrl: test.service.settings.urls.authUrl,
    appSlug: tenant.appSlug,
    privateKey: String(key.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    installationId: tenant.installationId,
    resourceAudience: 'svc-cloud',
    platform: { now: () => Date.now() + aheadMs },
  })
  const client = createClient({ baseUrl: test.url, credential: tokens })
  expect(await client.call('listSessions')).toMatchObject({ sessions: [] })
  const models = await fetch(`${test.url}/v1/models`, { headers: { authorization: `Bearer ${await tokens()}` } })
  expect(models.status).toBe(200)
  await test.db.database.query('update installations set revoked_at = now() where id = $1', [tenant.installationId])
  // The client takes a refusal right after a renewal for one of the token before it.
  aheadMs = 10_000
  await expect(client.call('listSessions')).rejects.toMatchObject({ status: 404, code: 'installation_not_found' })
})
