import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let first: Delivering
let second: Delivering
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { test } = accounts
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).join('\n')
  first = await sessionOnRepository(test, 'acme/greeter', { 'greet.ts': `${lines}\n`, 'shared.ts': 'export {}\n' })
  const forked = await test.api.call<{ session: { id: string } }>('POST', `/v1/sessions/${first.session.id}/forks`, {
    id: crypto.randomUUID(),
    title: 'Mend the greeting otherwise',
  })
  if (forked.status !== 201) throw new Error(`the fork answered ${forked.status} ${forked.text}`)
  const { id } = forked.body.session
  const { run } = await test.api.submitTurn(id, 'true')
  await test.api.runEnded(id, run.id)
  second = await Delivering.of(test, { ...(await test.api.session(id)), activeRunId: run.id })
  const both = `printf 'export const shared = 1\\n' > shared.ts`
  await first.shell(`${both}; sed -i 's/line 7/Bonjour/' greet.ts; printf 'One\\n' > one.md`)
  await second.shell(`${both}; sed -i 's/line 7/Buongiorno/' greet.ts; printf 'Two\\nlines\\n' > two.md`)
  const person = await personWithPassword(test.db.database, test.tenant.organizationId)
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${test.url}/sessions?everyone=true`, person)
})
afterAll(() => stack.disposeAsync())

const column = (name: string) => page.getByRole('region', { name, exact: true })
const view = (label: string) =>
  page.getByRole('group', { name: 'Changes to show' }).getByText(label, { exact: true }).click()

describe('two attempts at one task', () => {
  it('are compared by selecting both in the list', async () => {
    const select = async (name: string) => {
      await page.locator('[data-list-item]').getByText(name, { exact: true }).focus()
      await page.keyboard.press('x')
    }
    const actions = page.getByRole('toolbar', { name: 'Selected Sessions' })
    await select('Mend the greeting')
    await actions.getByRole('button', { name: 'Compare' }).focus()
    await actions.getByText('Select two Sessions to compare them.').waitFor()
    await select('Mend the greeting otherwise')
    await actions.getByRole('link', { name: 'Compare' }).click()
    await page.getByRole('heading', { level: 1, name: 'Compare two Sessions' }).waitFor()
  })

  it('show what each has changed, whether it was checked, and its cost', async () => {
    const table = page.getByRole('table', { name: 'The two Sessions' })
    const cells = async (name: string) => {
      const row = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) })
      return row.getByRole('cell').allInnerTexts()
    }
    await expect.poll(() => cells('Changes')).toEqual(['3 files +3 −2', '3 files +4 −2'])
    await expect.poll(() => cells('Cost')).toEqual(['$0.00', '$0.00'])
    expect(await cells('Checks')).toEqual(['Not verified', 'Not verified'])
    expect(await cells('Status')).toEqual(['Ready to review', 'Ready to review'])
  })

  it('stand side by side, or one of them alone', async () => {
    await column('Mend the greeting').getByText('Bonjour').waitFor()
    await column('Mend the greeting otherwise').getByText('Buongiorno').waitFor()
    await shoot(page, 'compare')
    expect(await pageFaults(page)).toEqual([])
    await view('B')
    await column('Mend the greeting').waitFor({ state: 'detached' })
  })

  it('show only the files in which they differ', async () => {
    await view('Where they differ')
    const files = page.getByRole('list', { name: 'Files that differ' }).getByRole('listitem')
    await files.first().waitFor()
    expect((await files.allInnerTexts()).map(text => text.split(/\s{2,}|\n/))).toEqual([
      ['greet.ts', 'differs'],
      ['two.md', 'only in B'],
      ['one.md', 'only in A'],
    ])
    await files.first().getByRole('button').click()
    await files.first().getByText('Bonjour').waitFor()
    await files.first().getByText('Buongiorno').waitFor()
    await shoot(page, 'compare-between')
    expect(await pageFaults(page)).toEqual([])
  })

  it('are compared on a phone one after the other, from the menu of a fork', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${accounts.test.url}/sessions/${second.session.id}`)
    await page.getByRole('button', { name: 'Actions of this Session' }).click()
    await page.getByRole('menuitem', { name: 'Compare with the original' }).click()
    await column('Mend the greeting').getByText('Bonjour').waitFor()
    expect(await page.getByText('Side by side').isVisible()).toBe(false)
    await view('B')
    await column('Mend the greeting otherwise').getByText('Buongiorno').waitFor()
    expect(visitor.complaints).toEqual([])
  })

  it('are told apart from nothing, and from a Session that is not there', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    const empty = await accounts.test.api.createSession({ title: 'Nothing yet' })
    await page.goto(`${accounts.test.url}/sessions/${first.session.id}/compare/${empty.id}`)
    await column('Nothing yet').getByText('No Run of this Session has changed a file.').waitFor()
    await view('Where they differ')
    await page.getByText('One of them has changed nothing.').waitFor()
    await page.goto(`${accounts.test.url}/sessions/${first.session.id}/compare/${crypto.randomUUID()}`)
    await page.getByRole('alert').getByText('cloud_session_not_found').waitFor()
  })
})
