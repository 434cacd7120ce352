import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient, lasting } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'

let test: TestService
let client: CloudClient
let person: Awaited<ReturnType<typeof signInPerson>> & { password: string }
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api,account', BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(test.url)
  const password = 'correct horse battery'
  person = { ...(await signInPerson(test.db.database, test.tenant.organizationId)), password }
  await test.db.database.query('update people set password_hash = $2 where id = $1', [
    person.personId,
    await hashPassword(password),
  ])
})
afterAll(() => test[Symbol.asyncDispose]())

const begin = async (): Promise<{ device_code: string; user_code: string; verification_uri: string }> => {
  const response = await fetch(`${test.url}/oidc/device/auth`, {
    method: 'POST',
    headers: { 'user-agent': 'berth-test/1.0', 'x-forwarded-for': '198.51.100.24' },
    body: new URLSearchParams({ client_id: 'svc-cloud', scope: lasting.scope }),
  })
  return Object(await response.json())
}
const poll = (device: string) =>
  client.token({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: device })

it('signs in a device that shows a code, after a page that says where the request came from', async () => {
  const begun = await begin()
  expect((await poll(begun.device_code)).body['error']).toBe('authorization_pending')
  const browser = new Browser(test.url)
  const entered = await browser.submit(await browser.get(begun.verification_uri), { user_code: begun.user_code })
  for (const shown of [begun.user_code, '198.51.100.24', 'berth-test/1.0']) expect(entered.text).toContain(shown)
  const signedIn = await browser.submit(await browser.submit(entered), { ...person })
  expect(signedIn.text).toContain('on your device')
  expect((await poll(begun.device_code)).body['error']).toBe('authorization_pending')
  expect((await browser.submit(signedIn)).text).toContain('Device connected')
  const { status, body } = await poll(begun.device_code)
  expect(status).toBe(200)
  const token = String(body['access_token'])
  expect(decodeJwt(token)).toMatchObject({ sub: person.personId, membership: person.membershipId })
  expect((await new Api(test.url, token).get('/v1/me')).status).toBe(200)
  expect((await poll(begun.device_code)).body['error']).toBe('invalid_grant')
})

it('tells a device that the person cancelled, and takes no code that is wrong or was used', async () => {
  const begun = await begin()
  const browser = new Browser(test.url)
  const page = await browser.get(begun.verification_uri)
  const wrong = await browser.submit(page, { user_code: 'BBBB-BBBB' })
  expect(wrong.text).toContain('This code is wrong')
  const entered = await browser.submit(wrong, { user_code: begun.user_code })
  expect((await browser.submit(entered, {}, 'yes')).text).toContain('Sign-in cancelled')
  expect((await poll(begun.device_code)).body['error']).toBe('access_denied')
  const again = await browser.submit(await browser.get(begun.verification_uri), { user_code: begun.user_code })
  expect(again.text).toContain('This code is wrong')
})

it('takes a code until somebody has approved or declined it: a page that was left spends nothing', async () => {
  const begun = await begin()
  const entered = async () => {
    const browser = new Browser(test.url)
    const page = await browser.submit(await browser.get(begun.verification_uri), { user_code: begun.user_code })
    return { browser, page: await browser.submit(page) }
  }
  const left = await entered()
  expect(left.page.text).toContain('name="password"')
  const { browser, page } = await entered()
  expect(page.text).toContain('name="password"')
  const signedIn = await browser.submit(page, { ...person })
  expect((await poll(begun.device_code)).body['error']).toBe('authorization_pending')
  expect((await browser.submit(signedIn)).text).toContain('Device connected')
  expect((await left.browser.submit(left.page, { ...person })).text).toContain('was used')
  expect((await poll(begun.device_code)).status).toBe(200)
  const late = await browser.submit(await browser.get(begun.verification_uri), { user_code: begun.user_code })
  expect(late.text).toContain('was used')
})

it('tells a device that the person declined on a later page', async () => {
  for (const steps of [1, 2]) {
    const begun = await begin()
    const browser = new Browser(test.url)
    let page = await browser.submit(await browser.get(begun.verification_uri), { user_code: begun.user_code })
    page = await browser.submit(page)
    if (steps === 2) page = await browser.submit(page, { ...person })
    expect((await browser.submit(page, { decision: 'cancel' })).text).toContain('Sign-in cancelled')
    expect((await poll(begun.device_code)).body['error']).toBe('access_denied')
  }
})

it('leaves a browser signed in at one deployment while it signs in to and out of another on the same host', async () => {
  await using other = await startTestService({ variables: { BERTH_ROLES: 'api,account' } })
  const there = await signInPerson(other.db.database, other.tenant.organizationId)
  await other.db.database.query('update people set email = $2, password_hash = $3 where id = $1', [
    there.personId,
    person.email,
    await hashPassword(person.password),
  ])
  const { browser } = await client.signIn(person)
  // Browsers send the cookies of a host to every port of it.
  const shared = new Browser(other.url)
  for (const [name, cookie] of browser.cookies) shared.cookies.set(name, cookie)
  const page = await shared.get(new CloudClient(other.url).authorizeUrl(pkce().challenge))
  expect(page.text).toContain('name="password"')
  expect((await shared.submit(page, { email: person.email, password: person.password })).text).toContain('Continue as')
  for (const [name, cookie] of shared.cookies) browser.cookies.set(name, cookie)
  expect((await browser.get(client.authorizeUrl(pkce().challenge))).text).toContain('Continue as')
  const out = await shared.get(`${other.url}/oidc/session/end`)
  expect((await shared.submit(out)).text).toContain('Signed out')
  expect((await browser.get(client.authorizeUrl(pkce().challenge))).text).toContain('Continue as')
})

it('publishes its metadata for clients of OpenID and of OAuth alone, and names only its own address, whatever the client says about the host', async () => {
  const paths = [
    '/.well-known/openid-configuration',
    '/oidc/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/oidc',
  ]
  for (const path of paths) {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', origin: 'https://evil.example' }
    const answer = await fetch(`${test.url}${path}`, { headers })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    const metadata = Object(await answer.json())
    expect(metadata).toMatchObject({
      issuer: `${test.url}/oidc`,
      authorization_endpoint: `${test.url}/oidc/auth`,
      token_endpoint: `${test.url}/oidc/token`,
      code_challenge_methods_supported: ['S256'],
    })
    expect(JSON.stringify(metadata)).not.toContain('evil.example')
  }
})
