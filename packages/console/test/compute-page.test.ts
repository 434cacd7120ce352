import type { AdmittedHost, Compute } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { dialogFaults, keyboardFaults } from '@berth/testing/console/keyboard.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
const visitors: Visitor[] = []
let page: Page
let colleague: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  const { organizationId } = accounts.test.tenant
  colleague = await accounts.person({ role: 'admin' })
  browser = await launchChromium()
  stack.defer(() => browser.close())
  page = await signIn(await personWithPassword(db(), organizationId, { role: 'admin' }))
}, 120_000)
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const path = '/organization/compute'
async function signIn(person: { readonly email: string }): Promise<Page> {
  const visitor = stack.use(await newVisitor(browser, { scripts: true }))
  visitors.push(visitor)
  visitor.page.setDefaultTimeout(60_000)
  await openSignedIn(visitor.page, `${accounts.test.url}${path}`, person)
  return visitor.page
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const machine = (name: string) => page.getByRole('listitem').filter({ hasText: name })
const compute = async () => (await colleague.api.get<Compute>('/cloud/compute')).body as unknown as Compute
const hostOf = async (name: string) => (await compute()).hosts.find(host => host.name === name)
const set = (name: string, columns: string) => db().query(`update hosts set ${columns} where name = $1`, [name])
const hasFocus = (of: Locator) =>
  until('the focus', () => of.evaluate(element => element.ownerDocument.activeElement === element))

describe('an administrator', () => {
  it('admits a machine by the keyboard, and sees its token once', async () => {
    await page.getByText('No machine of your own').waitFor()
    expect(await dialogFaults(page, 'Add a machine')).toEqual([])
    await button('Add a machine').focus()
    await page.keyboard.press('Enter')
    await hasFocus(page.getByLabel('Name'))
    await page.keyboard.type('rack-1')
    await page.keyboard.press('Tab')
    await page.keyboard.type('none')
    await page.getByText('Enter a number from 1 to 10,000, or nothing.').first().waitFor()
    await shoot(page, 'compute-admit')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('4')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Start the machine' })
    await dialog.getByText('berth --url').waitFor()
    await shoot(page, 'compute-token')
    expect(await pageFaults(page)).toEqual([])
    const command = (await dialog.locator('code, pre, input, textarea').first().textContent()) ?? ''
    expect(command).toMatch(/^BERTH_HOST_TOKEN=svc_host_\S+ berth --url .* host$/)
    await dialog.getByRole('button', { name: 'Done' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await hasFocus(button('Add a machine'))
    expect(await page.content()).not.toContain('svc_host_')
    await machine('rack-1').getByText('Has never connected').waitFor()
    expect(await hostOf('rack-1')).toMatchObject({ capacity: 4, state: 'waiting' })
  })

  it('cordons, drains and opens it', async () => {
    await set('rack-1', 'heard_at = now() + interval \'1 hour\', labels = \'{"disk":"nvme"}\'')
    await page.reload()
    await machine('rack-1').getByText('Ready').waitFor()
    for (const [order, next, state] of [
      ['Cordon rack-1', 'Gets no more sandboxes', 'cordoned'],
      ['Drain rack-1', 'Empty, and gets no more sandboxes', 'drained'],
      ['Open rack-1', 'Ready', 'ready'],
    ] as const) {
      await button(order).press('Enter')
      await machine('rack-1').getByText(next, { exact: true }).waitFor()
      expect((await hostOf('rack-1'))?.state).toBe(state)
    }
  })

  it('sees why a machine rests after failures, and uses it now', async () => {
    await set('rack-1', "failures = 3, rests_until = now() + interval '1 hour', rests_because = 'no_answer'")
    await page.reload()
    await machine('rack-1')
      .getByText(/Gets no sandbox until \d\d:\d\d:\d\d: it did not answer/)
      .waitFor()
    await shoot(page, 'compute-resting')
    expect(await pageFaults(page)).toEqual([])
    await button('Use now rack-1').press('Enter')
    await machine('rack-1').getByText('Ready').waitFor()
    expect(await hostOf('rack-1')).toMatchObject({ state: 'ready', restsUntil: null })
  })

  it('is told in the dialog why a machine cannot be removed, and removes it once it is empty', async () => {
    const { organizationId } = accounts.test.tenant
    const { id: sessionId } = await colleague.api.createSession({})
    await db().query(
      `insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
       select gen_random_uuid(), $1, $2, 'remote', id, 'shell', 'attached', now(), now() + interval '1 hour', now() + interval '1 hour', 1
       from hosts where name = 'rack-1'`,
      [organizationId, sessionId],
    )
    await set('rack-1', "heard_at = now() - interval '2 minutes', seen_at = now() - interval '2 minutes'")
    await page.reload()
    await button('Declare rack-1 lost').press('Enter')
    const lost = page.getByRole('dialog', { name: 'Is rack-1 gone for good?' })
    // It comes back before the answer is given.
    await set('rack-1', "heard_at = now() + interval '1 hour'")
    await lost.getByRole('button', { name: 'Declare it lost' }).press('Enter')
    await lost.getByText('The machine may still be there').waitFor()
    await shoot(page, 'compute-lost-refused')
    await set('rack-1', "heard_at = now() - interval '2 minutes'")
    await lost.getByRole('button', { name: 'Declare it lost' }).press('Enter')
    await lost.waitFor({ state: 'detached' })
    await hasFocus(button('Declare rack-1 lost'))
    const { rows } = await db().query("select from hosts where name = 'rack-1' and heard_at = 'epoch'")
    expect(rows).toHaveLength(1)
    await button('Remove rack-1').press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Remove rack-1?' })
    await dialog.getByRole('button', { name: 'Remove' }).press('Enter')
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByRole('alert').textContent()).toMatch(/holds sandboxes/i)
    await shoot(page, 'compute-remove-refused')
    expect(await pageFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await hasFocus(button('Remove rack-1'))
    await db().query(
      "update leases set state = 'ended', ended_at = now(), end_reason = 'expired' where ended_at is null",
    )
    await page.keyboard.press('Enter')
    // The refusal of before is not shown again.
    expect(await dialog.getByRole('alert').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Remove' }).press('Enter')
    await page.getByText('No machine of your own').waitFor()
    expect((await compute()).hosts).toEqual([])
  })

  it('binds the organization to its own machines, and is told what that stops', async () => {
    expect(await dialogFaults(page, 'Run on your own machines only')).toEqual([])
    await button('Run on your own machines only').press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Run on your own machines only?' })
    await shoot(page, 'compute-bind')
    await dialog.getByRole('button', { name: 'Run on your own machines only' }).press('Enter')
    await page.getByText('None of your machines has ever connected, so new work is refused.').waitFor()
    expect(await compute()).toMatchObject({ runsOn: 'own_hosts', standing: 'not_configured' })
    const admitted = await Promise.all(
      ['a-machine-with-quite-a-long-name-of-its-own.example.com', 'rack-2', 'rack-3'].map(
        async name =>
          (await colleague.api.call('POST', '/cloud/compute/hosts', { name })).body as unknown as AdmittedHost,
      ),
    )
    expect(admitted).toHaveLength(3)
    await db().query(
      `update hosts set heard_at = now() + interval '1 hour', rests_until = now() + interval '1 hour', rests_because = 'line_cut',
        labels = '{"disk":"nvme","zone":"north-2"}' where organization_id is not null`,
    )
    await page.reload()
    await page.getByText(/Your machines have failed and rest, so new sandboxes wait until/).waitFor()
    await shoot(page, 'compute-bound')
    expect(await keyboardFaults(page, 'main')).toEqual([])
    expect(await pageFaults(page)).toEqual([])
    await button('Run on any machine').press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Run on any machine' }).press('Enter')
    await button('Run on your own machines only').waitFor()
    expect((await compute()).runsOn).toBe('any_host')
  })
})

it('shows the administrator of another organization none of it', async () => {
  const { tenant } = await accounts.test.newTenant()
  const { organizationId } = tenant
  const other = await accounts.person({ organizationId, role: 'admin' })
  const id = (await hostOf('rack-2'))?.id ?? ''
  expect(outcome(await other.api.call('DELETE', `/cloud/compute/hosts/${id}`))).toBe('404 host_not_found')
  const marked = await other.api.put(`/cloud/compute/hosts/${id}/mark`, { mark: 'drained' })
  expect(outcome(marked)).toBe('404 host_not_found')
  const theirs = await signIn(await personWithPassword(db(), organizationId, { role: 'admin' }))
  await theirs.goto(`${accounts.test.url}${path}?dialog=remove&of=${id}`)
  await theirs.getByText('No machine of your own').waitFor()
  expect(await theirs.getByRole('dialog').count()).toBe(0)
  expect(await hostOf('rack-2')).toMatchObject({ state: 'resting' })
})

it('is for administrators alone', async () => {
  const theirs = await signIn(await personWithPassword(db(), accounts.test.tenant.organizationId))
  await theirs.getByRole('heading', { name: 'Not for your role' }).waitFor()
})

it('never met the policy of the page', () => {
  expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([])
})
