import { randomBytes } from 'node:crypto'
import { type Accounts, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation, createTenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let accounts: Accounts
let api: Api
beforeAll(async () => {
  accounts = await startAccounts()
  api = (await accounts.person({ role: 'admin' })).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const redirectUrls = ['https://app.example.test/installed']

async function newApp(): Promise<string> {
  const slug = `a${randomBytes(6).toString('hex')}`
  expect((await api.call('POST', '/api/apps', { slug, name: 'Before', redirectUrls })).status).toBe(201)
  return slug
}

const actions = async () => {
  const at = `/api/organizations/${accounts.test.tenant.organizationId}/audit?limit=3`
  return (await api.get<{ entries: { action: string; target: string }[] }>(at)).body.entries
}

it('an app changes its name and its redirects, each alone', async () => {
  const slug = await newApp()
  const named = await api.call('PATCH', `/api/apps/${slug}`, { name: 'After' })
  expect(named.body).toMatchObject({ app: { slug, name: 'After', redirectUrls } })
  const moved = await api.call('PATCH', `/api/apps/${slug}`, { redirectUrls: [] })
  expect(moved.body).toMatchObject({ app: { slug, name: 'After', redirectUrls: [] } })
  expect((await actions())[0]).toMatchObject({ action: 'app.changed', target: `app ${slug}` })
  for (const body of [{}, { redirectUrls: ['http://app.example.test/'] }, { slug: 'other' }]) {
    expect(outcome(await api.call('PATCH', `/api/apps/${slug}`, body))).toBe('400 invalid_request')
  }
})

it('a deleted app ends with its keys and all of its installations, and its slug is never given again', async () => {
  const slug = await newApp()
  const key = await makeAppKey()
  await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  const other = await createTenant(accounts.test.db.database)
  const { installationId, apiKey } = await createInstallation(accounts.test.db.database, other.organizationId, slug)
  const exchange = async () =>
    new Api(accounts.test.url, 'none').call('POST', '/auth/app-installation-token', {
      assertion: await assert(key, slug, accounts.issuer),
      installationId,
      resourceAudience: 'svc-cloud',
    })
  expect((await exchange()).status).toBe(200)
  expect((await api.call('DELETE', `/api/apps/${slug}`)).status).toBe(204)
  expect(outcome(await exchange())).toBe('401 invalid_assertion')
  expect(outcome(await new Api(accounts.test.url, apiKey).get('/v1/sessions'))).toBe(
    '401 invalid_or_expired_credential',
  )
  expect((await actions())[0]).toMatchObject({ action: 'app.deleted', target: `app ${slug}` })
  for (const [method, body] of [
    ['PATCH', { name: 'x' }],
    ['DELETE', undefined],
  ] as const) {
    expect(outcome(await api.call(method, `/api/apps/${slug}`, body))).toBe('404 app_not_found')
  }
  expect(outcome(await api.call('POST', '/api/apps', { slug, name: 'Again' }))).toBe('409 app_slug_taken')
})

it('only an administrator of its own organization changes or deletes an app', async () => {
  const slug = await newApp()
  const other = await createTenant(accounts.test.db.database)
  const foreign = (await accounts.person({ organizationId: other.organizationId, role: 'admin' })).api
  const member = (await accounts.person({})).api
  for (const target of [slug, 'svc-cloud']) {
    expect(outcome(await foreign.call('PATCH', `/api/apps/${target}`, { name: 'x' }))).toBe('404 app_not_found')
    expect(outcome(await foreign.call('DELETE', `/api/apps/${target}`))).toBe('404 app_not_found')
  }
  expect(outcome(await member.call('DELETE', `/api/apps/${slug}`))).toBe('403 insufficient_scope')
})
