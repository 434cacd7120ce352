import { randomUUID } from 'node:crypto'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { Administrator } from '@berth/testing/console/administration.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { githubEvents } from '@berth/testing/git/github-events.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import { postHook, signing } from '@berth/testing/posted-hooks.ts'
import { until } from '@berth/testing/until.ts'
import { type Received, Receiver } from '@berth/testing/webhooks/receiver.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { isGenuine } from '@berth/testing/webhooks/verify-signature.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const origin = 'http://127.0.0.1:9000'
const network = new ScriptedNetwork()
const stack = new AsyncDisposableStack()
let accounts: Accounts
let receiver: Receiver
let browser: Browser
let at: Administrator
let page: Page
beforeAll(async () => {
  receiver = stack.use(await Receiver.open(null))
  network.ports.set('127.0.0.1:9000', receiver.port)
  accounts = stack.use(await startAccounts({ network, config: { webhooks: { allow: [origin] } } }))
  const person = await personWithPassword(db(), accounts.test.tenant.organizationId, { role: 'admin' })
  browser = await launchChromium()
  stack.defer(() => browser.close())
  at = stack.use(await Administrator.open(browser, accounts.test.url, person, '/organization/webhooks'))
  page = at.page
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const delivery = (text: string) => page.getByRole('group').filter({ hasText: text }).first()

/** Reads the secret that is shown once, and leaves its dialog. */
async function takeSecret(): Promise<string> {
  const shown = at.dialog('Copy the signing secret now')
  const secret = await shown.locator('code').first().textContent()
  await at.press('Done')
  await shown.waitFor({ state: 'detached' })
  return secret ?? ''
}

const signedWith = (secret: string, received: Received | undefined) =>
  received !== undefined && isGenuine(received.body, received.signature, secret, Date.now() / 1000)

describe('somebody who may manage apps', () => {
  oneWay()
  let secret: string
  let sessionId: string

  it('learns what webhooks are for, and registers an endpoint', async () => {
    await at.heading('No webhooks yet')
    await shoot(page, 'webhooks-empty')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Register the first endpoint')
    await field('Address').fill('hooks.example.com')
    await at.shows('This is no web address.')
    await field('Address').fill('http://10.0.0.1/hook')
    await at.press('Register')
    await at.shows('This address cannot be used')
    await field('Address').fill(`${origin}/hook`)
    await shoot(page, 'webhook-new')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Register')
    await at.dialog('Copy the signing secret now').waitFor()
    await shoot(page, 'webhook-secret')
    secret = await takeSecret()
    await at.shows('Nothing was sent yet.')
    expect(await page.content()).not.toContain(secret)
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain(secret)
  })

  it('sends a test, which arrives signed and is in the log', async () => {
    await at.press('Send a test')
    await delivery('svc.webhook.ping').getByText('Delivered').waitFor()
    expect(signedWith(secret, receiver.received[0])).toBe(true)
  })

  it('sees an attempt that failed, and why, and sends it again', async () => {
    receiver.answer = response => response.writeHead(503).end()
    const api = new Api(accounts.test.url, accounts.test.tenant.apiKey)
    sessionId = (await api.createSession({})).id
    const key = { organizationId: accounts.test.tenant.organizationId, sessionId }
    await db().transaction(tx => appendEvents(tx, key, [{ type: 'svc.run.completed', data: {} }], new Date()))
    const entry = delivery('svc.run.completed')
    // The page asks again every ten seconds by itself.
    await page.reload()
    await entry.getByText('HTTP 503').first().waitFor()
    await entry.locator('summary').click()
    await entry.getByText('Next attempt at').waitFor()
    await entry.getByRole('button', { name: 'Send again' }).hover()
    await at.shows('It is under way.')
    // The state after six failed attempts.
    await db().query(`update webhook_deliveries set status = 'failed', ended_at = now() where status = 'pending'`)
    await page.getByLabel('State of deliveries').selectOption('failed')
    // Until the list has gone, a click would close the entry that is open in it.
    await page.locator('details[open]').waitFor({ state: 'detached' })
    await delivery('svc.run.completed').locator('summary').click()
    await shoot(page, 'webhook-failed')
    expect(await pageFaults(page)).toEqual([])
    receiver.answer = response => response.writeHead(204).end()
    await delivery('svc.run.completed').getByRole('button', { name: 'Send again' }).click()
    await until('the delivery', async () => {
      const { rows } = await db().query('select status from webhook_deliveries where session_id = $1', [sessionId])
      return rows.some(row => Object(row).status === 'succeeded')
    })
    await page.getByLabel('State of deliveries').selectOption('succeeded')
    await delivery('svc.run.completed').waitFor()
    const link = delivery('svc.run.completed').getByRole('link', { name: sessionId, includeHidden: true })
    expect(await link.getAttribute('href')).toMatch(new RegExp(`^/sessions/${sessionId}\\?event=\\d+$`))
    await shoot(page, 'webhook')
    expect(await pageFaults(page)).toEqual([])
  })

  it('sends the Events of a Session again', async () => {
    const before = receiver.received.length
    await at.press('Send a Session again')
    await field('Session').fill(sessionId)
    await shoot(page, 'webhook-replay')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Send again')
    await at.shows(/\d+ Events? queued, up to number/)
    await at.press('Close')
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before)
  })

  it('rotates the secret: a second registration, then the end of the first', async () => {
    const old = page.url()
    await at.press('Rotate the secret')
    await shoot(page, 'webhook-rotate')
    await at.press('Make the new secret')
    const next = await takeSecret()
    expect(next).not.toBe(secret)
    await at.dialog('Delete the old registration?').waitFor()
    await shoot(page, 'webhook-rotated')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Delete the old one')
    await at.dialog('Delete the old registration?').waitFor({ state: 'detached' })
    expect(page.url()).not.toBe(old)
    await at.press('Send a test')
    await delivery('svc.webhook.ping').getByText('Delivered').waitFor()
    expect(signedWith(next, receiver.received.at(-1))).toBe(true)
    const { rows } = await db().query('select url from webhook_endpoints')
    expect(rows).toEqual([{ url: `${origin}/hook` }])
  })

  it('finds endpoints in a list, and deletes one', async () => {
    await page.getByRole('link', { name: 'Webhooks' }).last().click()
    await page.getByLabel('App').selectOption('')
    await at.row(`${origin}/hook`).getByText('Delivered').waitFor()
    await shoot(page, 'webhooks')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: new RegExp(`${origin}/hook`) }).click()
    await at.press('Delete')
    await shoot(page, 'webhook-delete')
    await at.press('Delete the endpoint')
    await at.shows('0 endpoints')
    const { rows } = await db().query(
      `select action from audit_log where action like 'webhook.%' group by action order by action`,
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'webhook.deleted',
      'webhook.pinged',
      'webhook.redelivered',
      'webhook.registered',
      'webhook.replayed',
    ])
  })

  it('makes a trigger of events of GitHub, sees why a delivery was refused, and turns it off', async () => {
    await at.goto('/organization/triggers')
    await at.heading('No triggers yet')
    await at.press('Make the first trigger')
    await field('Name').fill('Comments on the web shop')
    await field('Repositories').fill('web-shop')
    await at.shows('Write each repository as owner/name')
    await field('Repositories').fill('acme/web-shop')
    await shoot(page, 'trigger-new')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Create')
    await at.shows('Has no secret yet')
    await at.press('Make a secret')
    await at.press('Make the secret')
    const shown = at.dialog('Copy the secret now')
    const secret = (await shown.locator('code').first().textContent()) ?? ''
    await at.press('Done')
    await shown.waitFor({ state: 'detached' })
    const url = (await page.getByText(/\/hooks\//).textContent()) ?? ''
    const site = { id: 7, full_name: 'acme/web-shop', html_url: 'https://github.example/acme/web-shop' }
    const body = JSON.stringify(githubEvents(site).comment('@berth why?').body)
    const headers = { 'x-github-event': 'issue_comment', 'x-github-delivery': 'a-delivery' }
    expect((await postHook(url, body, { ...signing.github(secret, body), ...headers })).status).toBe(202)
    // The page asks again every ten seconds by itself.
    await page.reload()
    await at.shows('The repository is not granted to the installation.')
    await shoot(page, 'trigger')
    expect(await pageFaults(page)).toEqual([])
    await at.press('Turn off')
    await at.press('Turn on')
    await page.getByRole('button', { name: 'Turn off', exact: true }).waitFor()
    await at.press('Change')
    await field('Name').fill('Comments')
    await at.press('Save')
    await at.dialog('Change the trigger').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Triggers' }).last().click()
    // The list shows the name of before until it is read again.
    await page.getByText('Comments on the web shop').waitFor({ state: 'detached' })
    await at.row('Comments').getByText('On', { exact: true }).waitFor()
    await shoot(page, 'triggers')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: /^Comments/ }).click()
    await at.press('Delete')
    await at.press('Delete the trigger')
    await at.heading('No triggers yet')
    const { rows } = await db().query(`select action from audit_log where action like 'trigger.%' order by at, id`)
    expect(rows.map(({ action }) => action)).toEqual([
      'trigger.written',
      'trigger.secret_replaced',
      'trigger.written',
      'trigger.written',
      'trigger.written',
      'trigger.deleted',
    ])
  })

  it('finds nothing at links into another organization', async () => {
    const { tenant } = await accounts.test.newTenant()
    await at.goto(`/organization/webhooks/${tenant.appSlug}/${tenant.installationId}/${randomUUID()}`)
    await at.shows('No such installation')
    await shoot(page, 'webhook-unknown')
    expect(at.visitor.complaints).toEqual([])
  })
})
