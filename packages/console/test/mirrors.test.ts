import { randomUUID } from 'node:crypto'
import { mirrorOf, type OperationId, operationIds, operationOf, type Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { personToken, type SignedIn, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let page: ConsolePage
let person: SignedIn
/** The same person, by a bearer. */
let api: Api
let session: Session
let stranger: ConsolePage
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  const { organizationId } = accounts.test.tenant
  person = await personWithPassword(db(), organizationId, { role: 'admin' })
  page = new ConsolePage(accounts.test.url, organizationId)
  await page.signIn(person)
  const { mint } = await startSigner(db(), accounts.test.service.settings.urls.authUrl, accounts.masterKey)
  api = new Api(accounts.test.url, await personToken(mint, person))
  session = await api.createSession({ title: 'mine' }, 'a')
  const { tenant } = await accounts.test.newTenant()
  stranger = new ConsolePage(accounts.test.url, tenant.organizationId)
  await stranger.signIn(await personWithPassword(db(), tenant.organizationId, { role: 'admin' }))
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database

const mirrored = operationIds.filter(id => mirrorOf(operationOf(id)) !== null)
const others = operationIds.filter(id => !mirrored.includes(id) && !operationOf(id).path.startsWith('/cloud/'))

function filled(path: string): string {
  const known: Readonly<Record<string, string>> = {
    sessionId: session.id,
    runId: session.activeRunId ?? '',
    organizationId: person.organizationId,
    membershipId: person.membershipId,
    appSlug: accounts.test.tenant.appSlug,
    repositoryId: '1',
    number: '1',
    revision: '1',
    name: 'A',
    sha256: 'a'.repeat(64),
    invitationId: 'a'.repeat(64),
    kid: 'k',
    releaseSha: 'a'.repeat(40),
    model: 'm',
    host: 'example.com',
  }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? unknownId)
}

const unknownId = randomUUID()
const pathOf = (id: OperationId) => filled(operationOf(id).path)
const mirrorPath = (id: OperationId) => filled(mirrorOf(operationOf(id)) ?? '')
const reads = mirrored.filter(id => operationOf(id).method === 'GET' && !id.startsWith('stream'))

describe('a mirror', () => {
  it.each(reads)('answers what its operation answers the same person: %s', async id => {
    const [there, mirror] = [await api.get(pathOf(id)), await page.get(mirrorPath(id))]
    // A person has two sign-ins here, and each is the current one for itself.
    const settled = ({ text }: { text: string }) =>
      text.replaceAll(/"(?:current":(?:true|false)|lastUsedAt":"[^"]*")/g, '')
    expect([mirror.status, settled(mirror)]).toEqual([there.status, settled(there)])
  })

  it.each(mirrored.filter(id => operationOf(id).method !== 'GET'))(
    'needs the page itself, as reads do: %s',
    async id => {
      const { method } = operationOf(id)
      const changes = { 'sec-fetch-site': 'same-site' }
      expect(outcome(await page.call(method, mirrorPath(id), undefined, changes))).toBe(
        '403 cross_site_request_refused',
      )
    },
  )

  // To create a Session under an id that is taken elsewhere is allowed: ids are unique within an organization.
  const targeted = mirrored.filter(
    id => id !== 'createSession' && /\{(?:sessionId|organizationId|membershipId)\}/.test(operationOf(id).path),
  )
  it.each(targeted)('shows nothing of another organization: %s', async id => {
    const { method, body } = operationOf(id)
    const answer = await stranger.call(method, mirrorPath(id), body === undefined ? undefined : {})
    // A body that is faulty by itself is refused before anything is looked for.
    if (answer.status === 400) expect(Object.keys(body?.properties ?? {})).not.toEqual([])
    else expect(outcome(answer)).toMatch(/^404 \w+_not_found$/)
    expect(answer.text).not.toContain(person.personId)
  })

  it.each(others)('there is none of: %s', async id => {
    const { method, path } = operationOf(id)
    const at = path.startsWith('/api/') ? filled(path).replace('/api/', '/cloud/account/') : `/cloud${filled(path)}`
    expect(outcome(await page.call(method, at))).toBe('404 unknown_endpoint')
  })

  it.each(['/cloud/healthz', '/cloud/readyz', '/cloud/oidc/auth', '/cloud/internal/judge', '/cloud/v1', '/cloud/v1/'])(
    'there is none of what is no operation: %s',
    async path => {
      expect(outcome(await page.get(path))).toBe('404 unknown_endpoint')
    },
  )

  it('tells which methods it has', async () => {
    const answer = await page.call('DELETE', '/cloud/v1/sessions')
    expect([outcome(answer), answer.headers.get('allow')]).toEqual(['405 method_not_allowed', 'GET'])
  })

  it('is idempotent with its operation', async () => {
    const id = randomUUID()
    expect(outcome(await page.call('PUT', `/cloud/v1/sessions/${id}`, { title: 'a' }))).toBe('201')
    expect(outcome(await api.put(`/v1/sessions/${id}`, { title: 'a' }))).toBe('200')
    expect(outcome(await page.call('PUT', `/cloud/v1/sessions/${id}`, { title: 'b' }))).toBe(
      '409 cloud_session_conflict',
    )
  })

  it("takes from the same bucket as the person's tokens", async () => {
    await db().query('update organizations set rate_burst = 5, rate_per_minute = 1 where id = $1', [
      person.organizationId,
    ])
    try {
      const left = async (answer: Promise<{ headers: Headers }>) =>
        Number(/r=(\d+)/.exec((await answer).headers.get('ratelimit') ?? '')?.[1])
      expect(await left(api.get('/v1/sessions'))).toBe(4)
      expect(await left(page.get('/cloud/v1/sessions'))).toBe(3)
      expect(await left(api.get('/v1/me'))).toBe(2)
      expect(await left(page.get('/cloud/account/sign-ins'))).toBe(1)
      expect(await left(page.get('/cloud/v1/sessions'))).toBe(0)
      const refused = await page.get('/cloud/v1/sessions')
      expect(outcome(refused)).toBe('429 cloud_rate_limit_exceeded')
      // It fills while it is emptied.
      const retryAfter = Number(refused.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(60)
      // Who is signed in stays known, so that the page can say what happened.
      expect(outcome(await page.get('/cloud/auth/session'))).toBe('200')
    } finally {
      await db().query('update organizations set rate_burst = null, rate_per_minute = null where id = $1', [
        person.organizationId,
      ])
      // Without buckets all are full, so that the next test need not wait for its first token.
      await db().query('delete from rate_buckets')
    }
  })

  it('streams, until the session of the browser ends', async () => {
    const other = new ConsolePage(accounts.test.url, person.organizationId)
    await other.signIn(person)
    const response = await fetch(`${accounts.test.url}/cloud/v1/sessions/${session.id}/events/stream`, {
      headers: {
        cookie: other.cookie ?? '',
        'sec-fetch-site': 'same-origin',
        'x-svc-organization': person.organizationId,
      },
    })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect((await other.call('POST', '/cloud/auth/sign-out')).status).toBe(200)
    // It ends by itself, long before the life of a stream is over.
    await response.text()
    expect(outcome(await other.get(`/cloud/v1/sessions/${session.id}`))).toBe('401 sign_in_required')
  })
})
