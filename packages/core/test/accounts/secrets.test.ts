import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { assert, makeAppKey } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient, lasting } from '@berth/testing/accounts/client.ts'
import { Api } from '@berth/testing/api/api.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPersonByEmail } from '../../src/accounts/people/person.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const stack = new AsyncDisposableStack()
const masterKey = randomBytes(32)
let service: ServiceProcess
let db: TestDatabase
/** Everything that was secret in the flow, by its name. */
const secrets = new Map<string, string>()
/** Every refusal and page that the flow has seen. */
const shown: string[] = []

const keep = (name: string, secret: string): string => {
  expect(secret.length, name).toBeGreaterThan(5)
  secrets.set(name, secret)
  return secret
}
const lastPart = (url: string) => new URL(url).pathname.split('/').at(-1) ?? ''

/** Records answers on their way: all pages, and all refusals. */
function recordAnswers(): void {
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    const answer = await fetch(input, init)
    const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true
    if ((isPage && answer.status === 200) || answer.status >= 400) shown.push(await answer.clone().text())
    return answer
  }
  stack.defer(() => {
    globalThis.fetch = fetch
  })
}

/** An administrator who was invited, has set a password and a second factor, and signs in. */
async function person(admin: Api, organizationId: string) {
  const email = 'canary@example.test'
  const invited = await admin.call<{ url: string }>('POST', `/api/organizations/${organizationId}/invitations`, {
    email,
    role: 'admin',
  })
  keep('the invitation', lastPart(invited.body.url))
  const browser = new Browser(service.url)
  const invitation = await browser.get(invited.body.url)
  await browser.submit(invitation, { name: 'Canary', password: keep('a short password', 'shortpw') })
  const password = keep('the password', `canary ${randomBytes(8).toString('hex')}`)
  expect((await browser.submit(invitation, { name: 'Canary', password })).status).toBe(200)

  const totp = randomBytes(20)
  keep('the second factor', totp.toString('base64url'))
  const { id = '' } = (await findPersonByEmail(db.database, email)) ?? {}
  const sealed = new MasterKey(masterKey).seal(totp, `totp/${id}`)
  await db.database.query('update people set totp_secret = $2 where id = $1', [id, sealed])
  return { email, password, totp }
}

async function signIn({ email, password, totp }: Awaited<ReturnType<typeof person>>) {
  const client = new CloudClient(service.url)
  const browser = new Browser(service.url)
  const { verifier, challenge } = pkce()
  keep('the verifier', verifier)
  let page = await browser.get(client.authorizeUrl(challenge, lasting))
  keep('the interaction', lastPart(page.url))
  page = await browser.submit(page, { email, password: keep('a wrong password', 'wrong-password-canary') })
  page = await browser.submit(page, { email, password })
  page = await browser.submit(page, { code: keep('a wrong code', '77 88 99') })
  page = await browser.submit(page, { code: keep('the code of the factor', totpCode(totp, totpStep(new Date()))) })
  const landed = await browser.submit(page, {}, 'continue')
  const code = keep('the authorization code', new URL(landed.url).searchParams.get('code') ?? '')
  const { body } = await client.exchange(code, verifier)
  for (const name of ['access_token', 'refresh_token', 'id_token']) keep(`the first ${name}`, String(body[name]))
  const renewed = await client.refresh(String(body['refresh_token']))
  for (const name of ['access_token', 'refresh_token']) keep(`the second ${name}`, String(renewed.body[name]))
  // That of an interaction holds the last part of its address.
  for (const [name, { value }] of browser.cookies) if (!name.includes('interaction')) keep(`the cookie ${name}`, value)
  return {
    client,
    browser,
    token: String(renewed.body['access_token']),
    refresh: String(renewed.body['refresh_token']),
  }
}

/** Registers an app, gets consent and tokens, and makes keys. */
async function useApp(api: Api, organizationId: string, browser: Browser, email: string) {
  const slug = 'canary-app'
  await api.call('POST', '/api/apps', { slug, name: 'Canary', redirectUrls: ['https://app.example/'] })
  const key = await makeAppKey()
  const privateKeyPem = String(key.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  keep('the private key', privateKeyPem.split('\n')[1] ?? '')
  const mistaken = await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: privateKeyPem })
  expect(mistaken.status).toBe(400)
  await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  const assertion = keep('the assertion', await assert(key, slug, `${service.url}/oidc`))
  const anyone = new Api(service.url, 'none')
  const intentAnswer = await anyone.call('POST', '/api/apps/installation-intents', {
    ...{ assertion, capabilities: ['svc.cloud.access', 'svc.ai.invoke', 'svc.cloud.sessions:read'] },
    ...{ redirectUrl: 'https://app.example/', state: keep('the state', 'canary-state') },
  })
  const intent = Object(intentAnswer.body['intent'])
  keep('the intent', intent.id)
  await browser.submit(await browser.get(intent.authorizeUrl))
  const status = await anyone.call('POST', `/api/apps/installation-intents/${intent.id}/status`, { assertion })
  const { installationId } = Object(status.body['intent'])
  const exchange = async (path: string, more: object) =>
    String((await anyone.call('POST', path, { assertion, installationId, ...more })).body['token'])
  const cloud = await exchange('/auth/app-installation-token', { resourceAudience: 'svc-cloud' })
  keep('the installation token', cloud)
  keep('the end-user token', await exchange('/auth/app-end-user-token', { endUserId: email }))
  await anyone.call('POST', '/auth/app-installation-token', {
    ...{ assertion: `${assertion}x`, installationId, resourceAudience: 'svc-cloud' },
  })
  const integrations = `/api/organizations/${organizationId}/integrations`
  const made = await api.call('POST', integrations, { name: 'Canary', product: slug, capabilities: ['svc.ai.invoke'] })
  const { id } = Object(made.body['integration'])
  for (const kind of ['cloud', 'ai']) {
    const { secret } = (await api.call('POST', `${integrations}/${id}/keys`, { kind })).body
    keep(`the ${kind} key`, String(secret))
    // On the wrong side, in the query and in a path, as people send keys by mistake.
    for (const path of ['/v1/me', `/v1/sessions?key=${secret}`, '/v1/models'])
      await new Api(service.url, String(secret)).get(path)
  }
  expect((await new Api(service.url, cloud).get('/v1/sessions')).status).toBe(200)
}

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-canary-'))
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }))
  db = stack.use(await createTestDatabase())
  service = stack.use(
    await startServiceProcess({
      BERTH_ROLES: 'api,account,gateway',
      BERTH_DATA_DIR: dataDir,
      BERTH_MASTER_KEY: masterKey.toString('hex'),
      BERTH_TRUSTED_PROXIES: '127.0.0.1',
      DATABASE_URL: databaseUrl(db),
    }),
  )
  const { user, organizationId, apiKey, aiKey } = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'))
  for (const [name, secret] of Object.entries({ apiKey, aiKey, developer: user.password })) keep(name, String(secret))
  const developer = await new CloudClient(service.url).signIn(user)
  recordAnswers()
  const admin = new Api(service.url, keep('a token', developer.tokens.access_token))
  const canary = await person(admin, organizationId)
  const { client, browser, token, refresh } = await signIn(canary)
  const api = new Api(service.url, token)
  await useApp(api, organizationId, browser, canary.email)
  // Disguised paths lead to the same pages, so their secrets are masked as well.
  const install = secrets.get('the intent') ?? ''
  for (const disguised of [
    `/%69nstall/${install}`,
    `//install/${install}`,
    `/links/${secrets.get('the invitation')}/more`,
  ])
    await fetch(service.url + disguised)
  await client.refresh(refresh)
  // A repetition within ten seconds ends nothing.
  await db.database.query(
    "update oidc_records set consumed_at = consumed_at - interval '10 s' where kind = 'RefreshToken'",
  )
  await client.refresh(refresh)
  expect((await api.get('/v1/me')).status).toBe(401)
}, 240_000)
afterAll(() => stack.disposeAsync())

/** Six digits are in longer numbers and digests by chance: a code counts where nothing is joined to it. */
const isIn = (text: string, secret: string): boolean =>
  /^\d{6}$/.test(secret) ? new RegExp(`(?<![0-9A-Za-z])${secret}(?![0-9A-Za-z])`).test(text) : text.includes(secret)

/** The names of the secrets that are in a text. */
const found = (text: string, except: readonly string[] = []): string[] =>
  [...secrets].filter(([name, secret]) => !except.includes(name) && isIn(text, secret)).map(([name]) => name)

describe('a whole way through the account service', () => {
  it('leaves no secret and no query in the log', async () => {
    await until(
      'the last request in the log',
      () => service.lines.filter(line => line.includes('/oidc/token')).length > 3,
    )
    const log = service.lines.join('\n')
    expect(log).toContain('/install/:secret')
    expect(log).toContain('/links/:secret')
    expect(log).toContain('/api/apps/installation-intents/:secret')
    expect(found(log)).toEqual([])
    expect(log).not.toMatch(/canary@|"path":"[^"]*\?/)
  })

  it('leaves no secret in the audit log, and no email in its details', async () => {
    const { rows } = await db.database.query<{ line: string; details: string }>(
      'select a::text as line, details::text as details from audit_log a',
    )
    expect(rows.length).toBeGreaterThan(10)
    expect(found(rows.map(({ line }) => line).join('\n'))).toEqual([])
    expect(rows.filter(({ details }) => details.includes('@'))).toEqual([])
  })

  it('leaves no secret in a page or a refusal, but the address of the page itself', () => {
    expect(shown.length).toBeGreaterThan(15)
    const addresses = ['the invitation', 'the interaction', 'the intent']
    expect(found(shown.join('\n'), addresses)).toEqual([])
  })

  it('keeps no secret in the database as it was given', async () => {
    const { rows } = await db.database.query<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    )
    for (const { name } of rows) {
      const table = await db.database.query<{ line: string }>(`select t::text as line from ${name} t`)
      const kept = found(table.rows.map(({ line }) => line).join('\n'), ['the state'])
      expect([name, kept]).toEqual([name, []])
    }
  })
})
