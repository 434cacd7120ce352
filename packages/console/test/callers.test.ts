import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let page: ConsolePage
let own: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  own = accounts.test.url
  const { organizationId } = accounts.test.tenant
  page = new ConsolePage(own, organizationId)
  await page.signIn(await personWithPassword(accounts.test.db.database, organizationId))
})
afterAll(() => accounts[Symbol.asyncDispose]())

const otherPort = 'http://127.0.0.1:1'
const create = (changes: Readonly<Record<string, string | null>> = {}, body: unknown = {}) =>
  page.call('PUT', `/cloud/v1/sessions/${randomUUID()}`, body, changes)

describe("a request with the console's cookie", () => {
  it.each<[string, Record<string, string | null>, string]>([
    ['from the page', {}, '201'],
    ['from the page, with its origin', { origin: 'own' }, '201'],
    ['from another port of the same host', { 'sec-fetch-site': 'same-site' }, '403 cross_site_request_refused'],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, '403 cross_site_request_refused'],
    ['that nobody’s page sent', { 'sec-fetch-site': 'none' }, '403 cross_site_request_refused'],
    ['in capitals', { 'sec-fetch-site': 'SAME-ORIGIN' }, '403 cross_site_request_refused'],
    ['of an empty site', { 'sec-fetch-site': '' }, '403 cross_site_request_refused'],
    ['of an older browser, with its origin', { 'sec-fetch-site': null, origin: 'own' }, '201'],
    [
      'of an older browser, from another port',
      { 'sec-fetch-site': null, origin: otherPort },
      '403 cross_site_request_refused',
    ],
    ['without site and origin', { 'sec-fetch-site': null }, '403 cross_site_request_refused'],
    ['of no origin', { 'sec-fetch-site': null, origin: 'null' }, '403 cross_site_request_refused'],
    ['with a forged origin beside the right site', { origin: otherPort }, '403 cross_site_request_refused'],
    ['without an organization', { 'x-svc-organization': null }, '400 invalid_organization'],
    ['with a malformed organization', { 'x-svc-organization': 'mine' }, '400 invalid_organization'],
    ['with an unknown organization', { 'x-svc-organization': randomUUID() }, '404 organization_not_found'],
    ['with a body that is no JSON', { 'content-type': 'text/plain' }, '415 unsupported_media_type'],
    ['with the body of a form', { 'content-type': 'application/x-www-form-urlencoded' }, '415 unsupported_media_type'],
    ['without the cookie', { cookie: null }, '401 sign_in_required'],
    ['with an unknown cookie', { cookie: 'unknown' }, '401 sign_in_required'],
    ['with an empty cookie', { cookie: 'empty' }, '401 sign_in_required'],
  ])('%s', async (_, changes, expected) => {
    const name = page.cookie?.split('=')[0]
    const cookies: Readonly<Record<string, string>> = { unknown: `${name}=${'x'.repeat(43)}`, empty: `${name}=` }
    const sent = Object.fromEntries(
      Object.entries(changes).map(([header, value]) => [
        header,
        value === 'own' ? own : header === 'cookie' && value !== null ? (cookies[value] ?? null) : value,
      ]),
    )
    expect(outcome(await create(sent))).toBe(expected)
  })

  it('is judged the same way where it only reads', async () => {
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
    for (const path of ['/cloud/v1/sessions', '/cloud/auth/session', '/cloud/nothing']) {
      expect(outcome(await page.get(path, { 'sec-fetch-site': 'same-site' }))).toBe('403 cross_site_request_refused')
    }
  })

  it('learns nothing about the cookie from another site', async () => {
    const strange = { 'sec-fetch-site': 'cross-site', cookie: `${page.cookie?.split('=')[0]}=x` }
    expect(outcome(await page.get('/cloud/auth/session', strange))).toBe('403 cross_site_request_refused')
  })

  it('opens nothing of the API itself', async () => {
    for (const path of ['/v1/sessions', '/v1/me', '/api/sign-ins']) {
      expect(outcome(await page.get(path, { 'x-svc-organization': null }))).toBe('401 bearer_credential_required')
    }
  })

  it('says what its bucket holds, which is the one of the membership', async () => {
    const answer = await page.get('/cloud/v1/sessions')
    expect(answer.headers.get('ratelimit-policy')).toContain('"svc-cloud"')
    const auth = await page.get('/cloud/auth/session')
    expect(auth.headers.get('ratelimit-policy')).toContain('"svc-cloud-auth"')
  })

  it('is never stored, and names no other origin', async () => {
    const answer = await page.get('/cloud/v1/sessions', { origin: own })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect([...answer.headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
  })
})

describe('a request with a bearer', () => {
  it('is judged by that alone: the cookie beside it is not read', async () => {
    const { api } = await accounts.person({})
    const bearer = { authorization: `Bearer ${api.key}`, 'x-svc-organization': null, 'sec-fetch-site': 'cross-site' }
    expect(outcome(await page.get('/cloud/v1/me', bearer))).toBe('200')
    expect((await page.get('/cloud/v1/me', bearer)).body).toMatchObject((await api.get('/v1/me')).body)
    expect(outcome(await page.get('/cloud/v1/me', { ...bearer, authorization: 'Bearer x' }))).toBe(
      '401 invalid_or_expired_credential',
    )
    expect(outcome(await page.get('/cloud/v1/me', { ...bearer, authorization: 'Basic eDp5' }))).toBe(
      '401 bearer_credential_required',
    )
  })

  it('may not name an organization', async () => {
    const { api } = await accounts.person({})
    expect(outcome(await page.get('/cloud/v1/me', { authorization: `Bearer ${api.key}` }))).toBe(
      '400 organization_header_not_allowed',
    )
  })

  it('is no browser', async () => {
    const { api } = await accounts.person({})
    expect(outcome(await api.get('/cloud/auth/session'))).toBe('401 invalid_or_expired_credential')
  })

  it("of an installation opens nothing of people's", async () => {
    for (const path of ['/cloud/v1/sessions', '/cloud/v1/me', '/cloud/account/apps']) {
      expect(outcome(await accounts.test.api.get(path))).toBe('401 invalid_or_expired_credential')
    }
  })
})
