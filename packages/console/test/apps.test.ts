import { type Accounts, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { Administrator } from '@berth/testing/console/administration.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
let at: Administrator
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  const { organizationId, appSlug } = accounts.test.tenant
  await db().query('update apps set deleted_at = now() where slug = $1', [appSlug])
  const permissions = ['organization.applications.manage'] as const
  const person = await personWithPassword(db(), organizationId, { permissions })
  browser = await launchChromium()
  stack.defer(() => browser.close())
  at = stack.use(await Administrator.open(browser, accounts.test.url, person, '/organization/apps'))
  page = at.page
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const field = (name: string) => page.getByRole('textbox', { name, exact: true })

describe('a member who may manage apps', () => {
  it('learns what apps are for, and makes one', async () => {
    await at.heading('No apps yet')
    await shoot(page, 'apps-empty')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Make the first app')
    await field('Name').fill('Web shop')
    await field('Slug').fill('svc-shop')
    await at.shows('Slugs that begin with svc- are the service’s own.')
    await field('Slug').fill(accounts.test.tenant.appSlug)
    await at.press('Create')
    await at.shows('The slug is taken')
    await field('Slug').fill('web-shop')
    await shoot(page, 'app-new')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Create')
    await at.heading('Web shop')
  })

  it('changes where people return to', async () => {
    await field('Return addresses').fill('javascript:alert(1)')
    await at.shows('This is no web address: javascript:alert(1)')
    await field('Return addresses').fill('https://shop.example.com/installed')
    await at.press('Save')
    await at.shows('Saved.')
    const { rows } = await db().query(`select redirect_urls from apps where slug = 'web-shop'`)
    expect(rows).toEqual([{ redirect_urls: ['https://shop.example.com/installed'] }])
  })

  it('registers a public key, never a private one, and revokes it', async () => {
    const { publicKeyPem, privateKey, kid } = await makeAppKey()
    await at.press('Register a key')
    await field('Public key').fill(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    await at.shows('This is a private key.')
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
    expect(kept).not.toContain(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString().split('\n')[1])
    await field('Public key').fill(publicKeyPem)
    await shoot(page, 'app-key')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Register', exact: true }).click()
    await at.row(kid).waitFor()
    await shoot(page, 'app')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: `Revoke ${kid}` }).click()
    await at.press('Revoke the key')
    await at.row(kid).getByText('Revoked').waitFor()
    await at.press('Register a key')
    await field('Public key').fill(publicKeyPem)
    await page.getByRole('button', { name: 'Register', exact: true }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await at.press('Cancel')
  })

  it('deletes an app only after its slug is typed', async () => {
    await at.press('Delete')
    await page.getByRole('button', { name: 'Delete the app' }).hover()
    await at.shows('Type web-shop to confirm.')
    await field('Type web-shop to confirm').fill('web-shop')
    await shoot(page, 'app-delete')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Delete the app')
    await at.heading('No apps yet')
  })

  it('finds nothing at a link to another organization’s app', async () => {
    const { tenant } = await accounts.test.newTenant()
    await at.goto(`/organization/apps/${tenant.appSlug}`)
    await at.heading('No such app')
    await at.goto('/organization/integrations')
    await at.heading('Not for your role')
    await at.shows('This needs the permission to manage integrations.')
    expect(at.visitor.complaints).toEqual([])
  })
})
