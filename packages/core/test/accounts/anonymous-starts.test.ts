import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const burst = 4

let accounts: Accounts
let addresses = 0
beforeAll(async () => {
  accounts = await startAccounts({
    variables: { BERTH_ISSUANCE_RATE_PER_MINUTE: '1', BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    fixed: { issuanceBurstSeconds: burst * 60 },
  })
})
afterAll(() => accounts[Symbol.asyncDispose]())
beforeEach(async () => {
  addresses += 1
  await accounts.test.db.database.query('delete from oidc_records')
})

const ask = (url: string) => fetch(url, { redirect: 'manual', headers: { 'x-forwarded-for': `192.0.2.${addresses}` } })
const authorize = (more: Readonly<Record<string, string>> = {}) => {
  const url = new URL(new CloudClient(accounts.test.url).authorizeUrl(pkce().challenge))
  for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value)
  return url.href
}
const records = async () => {
  const { rows } = await accounts.test.db.database.query<{ kind: string; minutes: number; bytes: number }>(
    `select kind, extract(epoch from expires_at - now())::float / 60 as minutes, length(payload::text) as bytes
     from oidc_records`,
  )
  return rows
}

const starts: Readonly<Record<string, () => string>> = {
  '/oidc/auth': () => authorize(),
  '/oidc/auth/': () => authorize().replace('/oidc/auth?', '/oidc/auth/?'),
  '/oidc/device': () => `${accounts.test.url}/oidc/device`,
  '/oidc/session/end': () => `${accounts.test.url}/oidc/session/end`,
}

describe('a request of a stranger that begins something', () => {
  it.each(Object.entries(starts))('is metered by its address: %s', async (_, url) => {
    for (let n = 0; n < burst; n += 1) expect((await ask(url())).status).not.toBe(429)
    const refused = await ask(url())
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await records()).length).toBeLessThanOrEqual(burst)
  })

  it.each(Object.entries(starts))('leaves records for minutes, which are small: %s', async (_, url) => {
    await ask(url())
    for (const { minutes, bytes } of await records()) {
      expect(minutes).toBeLessThanOrEqual(30)
      expect(bytes).toBeLessThan(8_192)
    }
  })

  it.each(['state', 'nonce', 'login_hint'])('is refused with a long %s, and leaves nothing', async name => {
    const { status, headers } = await ask(authorize({ [name]: 'x'.repeat(5_000) }))
    expect(status === 400 || headers.get('location')?.includes('error=invalid_request')).toBe(true)
    expect((await records()).filter(({ bytes }) => bytes > 4_096)).toEqual([])
  })

  it('is refused with a long state of a sign-out', async () => {
    const { status } = await ask(`${accounts.test.url}/oidc/session/end?state=${'x'.repeat(5_000)}`)
    expect(status).toBe(400)
    expect(await records()).toEqual([])
  })
})

it('published keys and metadata are not metered', async () => {
  for (let n = 0; n < 3 * burst; n += 1) {
    expect((await ask(`${accounts.test.url}/oidc/jwks`)).status).toBe(200)
    expect((await ask(`${accounts.test.url}/.well-known/openid-configuration`)).status).toBe(200)
  }
})
