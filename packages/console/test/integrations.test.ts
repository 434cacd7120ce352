import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { Administrator } from '@berth/testing/console/administration.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
let at: Administrator
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  const { organizationId } = accounts.test.tenant
  await db().query(`update installations set revoked_at = now() where organization_id = $1`, [organizationId])
  const permissions = ['organization.integrations.manage'] as const
  const person = await personWithPassword(db(), organizationId, { permissions })
  browser = await launchChromium()
  stack.defer(() => browser.close())
  at = stack.use(await Administrator.open(browser, accounts.test.url, person, '/organization'))
  page = at.page
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const statusWith = async (key: string) => (await new Api(accounts.test.url, key).get('/v1/sessions')).status

/** Reads the key that is shown once, and leaves its dialog. */
async function takeKey(): Promise<string> {
  const key = await at.dialog('Copy the key now').locator('code').first().textContent()
  await at.press('Done')
  await at.dialog('Copy the key now').waitFor({ state: 'detached' })
  return key ?? ''
}

describe('a member who may manage integrations', () => {
  oneWay()
  let first: string
  let second: string

  it('is led to them, and learns what they are for', async () => {
    await at.heading('No integrations yet')
    const members = page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name: /Members/ })
    expect(await members.textContent()).toContain('not for your role')
    await shoot(page, 'integrations-empty')
    expect(await pageFaults(page)).toEqual([])
  })

  it('makes one with a grant, and its first key, which works', async () => {
    await at.press('Make the first integration')
    await page.getByRole('textbox', { name: 'Name' }).fill('CI of the web shop')
    await page.getByRole('button', { name: 'Nothing of Sessions and repositories' }).click()
    await page.getByRole('button', { name: 'Create', exact: true }).hover()
    await at.shows('Allow at least one thing.')
    await page.getByLabel('Read Sessions').check()
    await at.shows('only the AI gateway answers')
    await page.getByLabel('Use Berth Cloud').check()
    await shoot(page, 'integration-new')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Create')
    await at.dialog('New API key').waitFor()
    await page.getByLabel('Opens').selectOption('ai')
    await at.shows('Its grant does not include calling models.')
    await page.getByLabel('Opens').selectOption('cloud')
    await shoot(page, 'integration-key')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Create the key')
    await shoot(page, 'integration-secret')
    expect(await pageFaults(page)).toEqual([])
    first = await takeKey()
    expect(first).toMatch(/^svc_cloud_live_/)
    expect(await statusWith(first)).toBe(200)
    await at.row(`…${first.slice(-4)}`).waitFor()
    expect(await page.content()).not.toContain(first)
    expect(await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]))).not.toContain(first)
  })

  it('sees when a key was used', async () => {
    await page.reload()
    await at
      .row(`…${first.slice(-4)}`)
      .getByText('now')
      .waitFor()
  })

  it('replaces a key: the old one ends as the new one begins, and what is asked again meanwhile loses neither', async () => {
    await page.getByRole('button', { name: /^Replace svc_cloud/ }).click()
    await at.shows('ends at the moment that the new one begins')
    await at.press('Replace the key')
    await at.dialog('Copy the key now').waitFor()
    // Coming back from another window asks for the list again, which no longer has the old key.
    const created = page.waitForResponse(response => response.url().endsWith('/integrations'))
    await page.evaluate(() => {
      const later = Date.now() + 60_000
      Date.now = () => later
      const { document } = globalThis as unknown as { document: EventTarget }
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    })
    await created
    await at.gone(`…${first.slice(-4)}`)
    second = await takeKey()
    expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200])
  })

  it('signs in again for a key, has two at most, and revokes one', async () => {
    await at.age(db())
    await at.press('New key')
    await page.getByLabel('Lives for').selectOption('30 days')
    await at.press('Create the key')
    await at.shows('Confirm that it is you.')
    await at.press('Sign in again')
    await at.signIn()
    await at.dialog('New API key').waitFor()
    expect(await page.getByLabel('Lives for').inputValue()).toBe('30')
    await at.press('Create the key')
    const third = await takeKey()
    await page.getByRole('button', { name: 'New key' }).hover()
    await at.shows('Two keys of each kind are active.')
    await shoot(page, 'integration')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: `Revoke svc_cloud_…${third.slice(-4)}` }).click()
    await shoot(page, 'integration-revoke')
    await at.press('Revoke the key')
    await at.gone(`…${third.slice(-4)}`)
    expect(await statusWith(third)).toBe(401)
  })

  it('changes the grant, and is told what is gained and lost', async () => {
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByLabel('Read Sessions').uncheck()
    await page.getByLabel('Call models').check()
    await at.shows('Gains: Call models.')
    await at.shows('Loses: Read Sessions.')
    await shoot(page, 'integration-grant')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Save')
    await at.dialog(/may do/).waitFor({ state: 'detached' })
    await page.getByRole('listitem').filter({ hasText: 'Call models' }).waitFor()
    expect(await statusWith(second)).toBe(403)
  })

  it('finds integrations in a list, and deletes one', async () => {
    await page.getByRole('link', { name: 'Integrations' }).first().click()
    await at.row('CI of the web shop').getByText('Berth Cloud').waitFor()
    await shoot(page, 'integrations')
    expect(await pageFaults(page)).toEqual([])
    await page.getByLabel('Search integrations').fill(second.slice(-4))
    await page.getByRole('link', { name: /CI of the web shop/ }).click()
    await at.press('Delete')
    await at.shows('1 key of it stop')
    await shoot(page, 'integration-delete')
    await at.press('Delete the integration')
    await at.heading('No integrations yet')
    expect(await statusWith(second)).toBe(401)
  })

  it('finds nothing at a link into another organization', async () => {
    const { tenant } = await accounts.test.newTenant()
    await at.goto(`/organization/integrations/${tenant.installationId}`)
    await at.heading('No such integration')
    await shoot(page, 'integration-unknown')
    expect(await pageFaults(page)).toEqual([])
  })
})

describe('apps that are installed', () => {
  it('are explained as long as there is none', async () => {
    await at.goto('/organization/installations')
    await at.heading('No apps are installed')
    expect(await pageFaults(page)).toEqual([])
  })

  it('are shown with their grants, which can be changed and revoked', async () => {
    await db().query('update console_sessions set signed_in_at = now()')
    const { organizationId, appSlug } = accounts.test.tenant
    const id = randomUUID()
    await db().query("update apps set name = 'Web shop' where slug = $1", [appSlug])
    await db().query(
      `insert into installations (id, organization_id, app_slug, capabilities, created_at, kind)
       values ($1, $2, $3, '{svc.cloud.access,svc.cloud.sessions:read}', now(), 'app')`,
      [id, organizationId, appSlug],
    )
    await page.reload()
    await at.row('Web shop').getByText('Active').waitFor()
    await page.getByRole('button', { name: 'Change what Web shop may do' }).click()
    await page.getByLabel('Steer agents').check()
    await at.press('Save')
    await at.row('Web shop').getByText('Read Sessions, Steer agents').waitFor()
    await page.getByRole('button', { name: 'Revoke Web shop' }).click()
    await shoot(page, 'installation-revoke')
    await at.press('Revoke the app')
    await at.gone('Active')
    await page.getByLabel('Revoked ones too').check()
    await at.row('Web shop').getByText('Revoked').waitFor()
    await shoot(page, 'installations')
    expect(await pageFaults(page)).toEqual([])
    const { rows } = await db().query(
      `select capabilities, revoked_at is not null as revoked from installations where id = $1`,
      [id],
    )
    expect(rows).toEqual([
      { capabilities: ['svc.cloud.access', 'svc.cloud.sessions:read', 'svc.cloud.turns:submit'], revoked: true },
    ])
    expect(at.visitor.complaints).toEqual([])
  })
})
