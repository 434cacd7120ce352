import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
const visitors: Visitor[] = []
let organizationId: string
let page: Page
let memberPage: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  organizationId = accounts.test.tenant.organizationId
  const db = accounts.test.db.database
  const admin = await personWithPassword(db, organizationId, { role: 'admin' })
  const member = await personWithPassword(db, organizationId)
  await db.query(`update people set name = 'Grace Hopper' where id = $1`, [admin.personId])
  await db.query(`update people set name = 'Ada Lovelace' where id = $1`, [member.personId])
  const by = { kind: 'person', id: admin.personId, name: null } as const
  const entry = { organizationId, outcome: 'done', address: '192.0.2.7' } as const
  const minutes = (n: number) => new Date(Date.now() - n * 60_000)
  const target = `membership/${member.membershipId}`
  await appendAudit(db, { ...entry, actor: operator, action: 'organization.resumed' }, minutes(3_000))
  for (let n = 0; n < 60; n += 1) {
    const details = { role: 'admin', note: `<img src=x onerror=alert(${n})>\u202E` }
    await appendAudit(db, { ...entry, actor: by, action: 'member.changed', target, details }, minutes(n * 9))
  }
  await appendAudit(
    db,
    { ...entry, actor: by, action: 'api_key.created', target: `api_key ${randomUUID()}`, outcome: 'refused' },
    minutes(1),
  )
  browser = await launchChromium()
  stack.defer(() => browser.close())
  page = await signIn(admin.email, 'Audit log')
  memberPage = await signIn(member.email, 'Audit log')
})
afterAll(() => stack.disposeAsync())

async function signIn(email: string, heading: string): Promise<Page> {
  const visitor = stack.use(await newVisitor(browser, { scripts: true }))
  visitors.push(visitor)
  await openSignedIn(visitor.page, `${accounts.test.url}/organization/audit`, { email })
  await visitor.page.getByRole('heading', { level: 1, name: heading }).waitFor()
  return visitor.page
}

const entries = (of: Page = page) => of.getByRole('list', { name: 'Entries' }).getByRole('listitem')

describe('the audit log in a browser', () => {
  it('tells who did what, and more of an entry that is opened', async () => {
    await entries().filter({ hasText: 'API key created' }).getByText('Refused').waitFor()
    const changed = entries().filter({ hasText: 'Member changed Ada Lovelace' }).first()
    await changed.locator('summary').click()
    await changed.getByText('192.0.2.7').waitFor()
    await changed.getByText('<img src=x onerror=alert(0)>⟨U+202E⟩').waitFor()
    await shoot(page, 'audit')
    expect(await pageFaults(page)).toEqual([])
  })

  it('gives older entries on request', async () => {
    const before = await entries().count()
    await page.getByRole('button', { name: 'Older entries' }).click()
    await entries().filter({ hasText: 'Organization resumed' }).waitFor()
    expect(await entries().count()).toBeGreaterThan(before)
  })

  it('is filtered in the URL, and exported as it is filtered', async () => {
    await page.getByLabel('Actor').selectOption({ label: 'berth admin' })
    await entries().filter({ hasText: 'Member changed' }).first().waitFor({ state: 'detached' })
    expect(page.url()).toMatch(/\?actor=operator$/)
    expect(await entries().allTextContents()).toEqual([expect.stringContaining('Organization resumed')])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^audit-.*\.ndjson$/)
    const lines = (await readFile((await download.path()) ?? '', 'utf8')).trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line).action)).toEqual(['organization.resumed'])
    await page.getByLabel('Action').selectOption('member')
    await page.getByRole('heading', { name: 'No entry matches' }).waitFor()
    await page.reload()
    expect(await page.getByLabel('Action').inputValue()).toBe('member')
    await page.getByRole('link', { name: 'Show all' }).click()
    await entries().first().waitFor()
  })

  it('says to members what it takes', async () => {
    await memberPage.getByRole('heading', { name: 'Not for your role' }).waitFor()
    await memberPage.goto(`${accounts.test.url}/organization/health`)
    await memberPage.getByRole('heading', { name: 'Not for your role' }).waitFor()
    expect(await pageFaults(memberPage)).toEqual([])
  })
})

describe('the health in a browser', () => {
  it('says that nothing runs while no host is at work', async () => {
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('No host is at work.').waitFor()
    await shoot(page, 'health-down')
    expect(await pageFaults(page)).toEqual([])
  })

  it('follows what happens without being asked', async () => {
    const db = accounts.test.db.database
    const host = { driver: 'bubblewrap', runtimes: ['claude-code', 'codex'], patienceMs: 300_000, packagesFault: null }
    await announceHost(db, { ...host, id: 'build-1' }, new Date())
    await announceHost(db, { ...host, id: 'build-2', packagesFault: 'no overlay' }, new Date(Date.now() - 300_000))
    const session = await accounts.test.api.createSession({ title: 'Mend the flaky checkout' }, 'Go on')
    await db.query(
      `insert into leases (organization_id, session_id, id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
       values ($1, $2, $3, 'bubblewrap', 'build-1', 'claude-code', 'attached', now(), now() + interval '1 hour', now(), 1)`,
      [organizationId, session.id, randomUUID()],
    )
    await page.getByText('1 host away. The others go on.').waitFor()
    await page.getByRole('table', { name: 'Queue' }).getByRole('link', { name: 'Mend the flaky checkout' }).waitFor()
    await page.getByRole('table', { name: 'Sandboxes' }).getByText('build-1').waitFor()
    await shoot(page, 'health')
    expect(await pageFaults(page)).toEqual([])
  })
})

it('never met the policy of the page', () => {
  expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([])
})
