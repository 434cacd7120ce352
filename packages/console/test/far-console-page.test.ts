import type { FarDeployments } from '@berth/testing/accounts/far.ts'
import type { SignedIn } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { startFarConsole } from '@berth/testing/console/far-console.ts'
import { pageFaults } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let far: FarDeployments
let page: Page
let ada: SignedIn
let sessionId: string
let url: string
beforeAll(async () => {
  // bound: a pause between two reads of a stream
  far = stack.use(await startFarConsole({}, { streamAuthorityMs: 1000 }))
  url = far.api.process.url
  const tenant = await createTenant(accountDb())
  ada = await personWithPassword(accountDb(), tenant.organizationId, { role: 'admin' })
  await accountDb().query(`update people set name = 'Ada Lovelace' where id = $1`, [ada.personId])
  sessionId = (await new Api(url, tenant.apiKey).createSession({ title: 'Mend the clock' })).id
  const browser = await launchChromium()
  stack.defer(() => browser.close())
  page = stack.use(await newVisitor(browser, { scripts: true })).page
})
afterAll(() => stack.disposeAsync())

const accountDb = () => far.account.db.database
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

describe('a console far from its account service', () => {
  it('signs in over there and shows the Sessions of this deployment', async () => {
    await openSignedIn(page, `${url}/sessions/${sessionId}`, ada)
    expect(new URL(page.url()).origin).toBe(url)
    await heading('Mend the clock').waitFor()
    expect(
      await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
    ).not.toMatch(/eyJ|svc_console/)
    expect(await pageFaults(page)).toEqual([])
  })

  it('shows the members that the account service has', async () => {
    await page.goto(`${url}/organization/members`)
    await heading('Members').waitFor()
    await page.getByRole('row').filter({ hasText: 'Ada Lovelace' }).getByText('You').waitFor()
    expect(await pageFaults(page)).toEqual([])
  })

  it('says of webhooks and of the audit log where they are, and leads there', async () => {
    await page.goto(`${url}/organization/webhooks`)
    const link = page.getByRole('link', { name: 'Open the account service', exact: true })
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe(far.account.process.url)
    expect(await pageFaults(page)).toEqual([])
    await page.goto(`${url}/organization/audit`)
    await page.getByRole('link', { name: 'the account service', exact: true }).waitFor()
    expect(await pageFaults(page)).toEqual([])
  })

  it('is over at an open page when the membership ends over there', async () => {
    await page.goto(`${url}/sessions/${sessionId}`)
    await heading('Mend the clock').waitFor()
    await accountDb().query('update memberships set revoked_at = now() where id = $1', [ada.membershipId])
    await page.waitForURL(address => address.pathname !== `/sessions/${sessionId}`, { timeout: 60_000 })
    expect(
      (await page.request.get(`${url}/cloud/auth/session`, { headers: { 'sec-fetch-site': 'same-origin' } })).status(),
    ).toBe(401)
  })

  it('signs out over there as well', async () => {
    const { organizationId } = ada
    const grace = await personWithPassword(accountDb(), organizationId)
    await page.context().clearCookies()
    await openSignedIn(page, `${url}/sessions`, grace)
    await heading('Sessions').waitFor()
    await page
    await page.goto(`${url}/settings/profile`)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.waitForURL(address => !address.pathname.startsWith('/settings'))
    const { rows } = await accountDb().query(
      `select 1 from sign_ins where person_id = $1 and client_id = 'console-eu' and ended_at is null`,
      [grace.personId],
    )
    expect(rows).toEqual([])
  })
})
