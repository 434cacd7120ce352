import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type SignedIn, signInPerson } from '@berth/testing/accounts/signer.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { password, personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
let visitor: Visitor
let page: Page
let origin: string
let admin: SignedIn
/** A second administrator, by a token. */
let api: Api
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  origin = accounts.test.url
  const { organizationId } = accounts.test.tenant
  admin = await personWithPassword(db(), organizationId, { role: 'admin' })
  await db().query(`update people set name = 'Ada Lovelace' where id = $1`, [admin.personId])
  browser = await launchChromium()
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await visit('/organization', admin)
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const membersPath = () => `/api/organizations/${accounts.test.tenant.organizationId}/members`
const row = (name: string) => page.getByRole('row').filter({ hasText: name })
const dialog = (name: string) => page.getByRole('dialog', { name })
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

async function visit(path: string, { email }: Pick<SignedIn, 'email'>): Promise<void> {
  await page.goto(origin + path)
  await signIn(email)
}

async function signIn(email: string | null): Promise<void> {
  if (email !== null) await page.getByLabel('Email').and(page.locator('input')).fill(email)
  await page.getByLabel('Password').and(page.locator('input')).fill(password)
  await page.keyboard.press('Enter')
}

/** Lets the sign-in of every browser be an hour old. */
async function age(): Promise<void> {
  await db().query(`update console_sessions set signed_in_at = signed_in_at - interval '1 hour'`)
}

const thirtyNames = [
  'Ada Byron',
  'Alan Okafor',
  'Amélie Laurent',
  'Anjali Rao',
  'Astrid Holm',
  'Bao Nguyen',
  'Carlos Mendes',
  'Chidi Eze',
  'Clara Vogel',
  'Dana Levy',
  'Diego Ruiz',
  'Elif Kaya',
  'Emeka Obi',
  'Farah Haddad',
  'Freya Lind',
  'Giulia Conti',
  'Hana Moreau',
  'Hana Sato',
  'Henrik Dahl',
  'Imani Njeri',
  'Ingrid Berg',
  'Jonas Weber',
  'Kavya Iyer',
  'Lena Novak',
  'Lucas Martin',
  'Mei Chen',
  'Mina Park',
  'Noah Klein',
  'Olu Adeyemi',
  'Priya Shah',
]

describe('an administrator', () => {
  it('is led to the members, with itself as the last administrator', async () => {
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
    await row('Ada Lovelace').getByText('You').waitFor()
    expect(await page.getByRole('navigation', { name: 'Organization' }).getByRole('link').allTextContents()).toContain(
      'Members',
    )
    await row('Ada Lovelace').getByRole('button', { name: 'Remove Ada Lovelace' }).click()
    await dialog('Leave the organization?').getByRole('button', { name: 'Leave' }).hover()
    await page.getByText('This is the last administrator.').waitFor()
    expect(await pageFaults(page)).toEqual([])
    await dialog('Leave the organization?').getByRole('button', { name: 'Cancel' }).click()
    api = (await accounts.person({ role: 'admin' })).api
  })

  it('invites a person by a link that is shown once', async () => {
    await press('Invite')
    await page.getByLabel('Email').fill('grace')
    await page.getByText('This is no email address.').first().waitFor()
    await page.getByLabel('Email').fill('grace@example.test')
    await page.getByLabel('Manage integrations').check()
    await shoot(page, 'members-invite')
    expect(await pageFaults(page)).toEqual([])
    await press('Make the link')
    const link = dialog('Hand this link over').locator('code')
    const url = (await link.textContent()) ?? ''
    await shoot(page, 'members-link')
    expect(await pageFaults(page)).toEqual([])
    // Neither Esc nor a press outside loses it.
    await page.keyboard.press('Escape')
    expect(await link.textContent()).toBe(url)
    await press('Done')
    await row('grace@example.test').getByText('Manage integrations').waitFor()
    expect(await page.content()).not.toContain(url)
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('/link')

    const guest = stack.use(await newVisitor(browser, { scripts: true }))
    await guest.page.goto(url)
    await guest.fill({ Name: 'Grace Hopper', Password: password })
    await guest.page.keyboard.press('Enter')
    await guest.page
      .getByText(/Grace|joined|sign in/i)
      .first()
      .waitFor()
    await page.reload()
    await row('Grace Hopper').waitFor()
    expect(await page.getByText('Open invitations').count()).toBe(0)
  })

  it('withdraws an invitation', async () => {
    await press('Invite')
    await page.getByLabel('Email').fill('mallory@example.test')
    await press('Make the link')
    await press('Done')
    await page.getByRole('button', { name: 'Withdraw the invitation of mallory@example.test' }).click()
    await shoot(page, 'members-withdraw')
    await dialog('Withdraw the invitation?').getByRole('button', { name: 'Withdraw' }).click()
    await dialog('Withdraw the invitation?').waitFor({ state: 'detached' })
    await page.getByText('mallory@example.test').waitFor({ state: 'detached' })
    const { body } = await api.get(membersPath().replace('members', 'invitations'))
    expect(body['invitations']).toEqual([])
  })

  it('signs in again for a change of access, and goes on where it was', async () => {
    await age()
    await row('Grace Hopper').getByRole('button', { name: 'Edit the role of Grace Hopper' }).click()
    await dialog('Grace Hopper').getByLabel('Role').selectOption('admin')
    await press('Save')
    await page.getByText('Confirm that it is you.').waitFor()
    await shoot(page, 'members-confirm')
    expect(await pageFaults(page)).toEqual([])
    await press('Sign in again')
    await page.getByLabel('Password').and(page.locator('input')).waitFor()
    await signIn((await page.getByLabel('Email').and(page.locator('input')).count()) > 0 ? admin.email : null)
    await dialog('Grace Hopper').waitFor()
    expect(await dialog('Grace Hopper').getByLabel('Role').inputValue()).toBe('admin')
    await press('Save')
    await dialog('Grace Hopper').waitFor({ state: 'detached' })
    await row('Grace Hopper').getByText('Administrator').waitFor()
    const { body } = await api.get(`${membersPath().replace('members', 'audit')}?action=member.changed`)
    expect(body['entries']).toMatchObject([{ actor: { id: admin.personId }, details: { role: 'admin' } }])
  })

  it('makes a link for a new password, and removes a member by the keyboard alone', async () => {
    await row('Grace Hopper').getByRole('button', { name: 'New password for Grace Hopper' }).click()
    await press('Make the link')
    expect(await dialog('Hand this link over').locator('code').textContent()).toContain(origin)
    await press('Done')
    await row('Grace Hopper').getByRole('button', { name: 'Remove Grace Hopper' }).focus()
    await page.keyboard.press('Enter')
    await dialog('Remove Grace Hopper?').waitFor()
    await page.keyboard.press('Escape')
    await dialog('Remove Grace Hopper?').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await dialog('Remove Grace Hopper?').waitFor()
    await shoot(page, 'members-remove')
    await dialog('Remove Grace Hopper?').getByRole('button', { name: 'Remove' }).focus()
    await page.keyboard.press('Enter')
    await dialog('Remove Grace Hopper?').waitFor({ state: 'detached' })
    await page.getByText('Grace Hopper').waitFor({ state: 'detached' })
    const { body } = await api.get(membersPath())
    expect(JSON.stringify(body)).not.toContain('Grace')
  })

  it('finds one among many, page by page', async () => {
    const { organizationId } = accounts.test.tenant
    for (const name of thirtyNames) {
      const { personId } = await signInPerson(db(), organizationId)
      await db().query('update people set name = $2 where id = $1', [personId, name])
    }
    await page.reload()
    await page.getByText('32 members').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('Page 2 of 2').waitFor()
    await shoot(page, 'members')
    expect(await pageFaults(page)).toEqual([])
    await page.reload()
    await page.getByText('Page 2 of 2').waitFor()
    await page.getByLabel('Search members').fill('moreau hana')
    await page.getByText('1 of 32 members').waitFor()
    await page.getByLabel('Search members').fill('nobody at all')
    await page.getByText('Nothing matches').waitFor()
  })
})

describe('a member', () => {
  it('is told why, and nothing is asked for them', async () => {
    const { tenant } = await accounts.test.newTenant()
    const member = await personWithPassword(db(), tenant.organizationId)
    const other = stack.use(await newVisitor(browser, { scripts: true }))
    page = other.page
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await visit('/organization/members', member)
    await page.getByRole('heading', { name: 'Not for your role' }).waitFor()
    await page.getByText('This is for administrators.').waitFor()
    await shoot(page, 'members-refused')
    expect(await pageFaults(page)).toEqual([])
    expect(requests.filter(url => url.includes('/cloud/account/'))).toEqual([])
    expect(other.complaints).toEqual([])
    expect(visitor.complaints).toEqual([])
  })
})
