import type { Environment } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { waitFor } from '@berth/testing/environments/applying.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let colleague: Api
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { test } = accounts
  const person = await personWithPassword(test.db.database, test.tenant.organizationId, { role: 'admin' })
  colleague = (await accounts.person({})).api
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${test.url}/environments`, person)
  await page.getByRole('heading', { name: 'No environments yet' }).waitFor()
})
afterAll(() => stack.disposeAsync())

/** Opens the trial of a new environment. */
async function open(name: string, setup: string): Promise<Environment> {
  const environment = await new Environments(colleague).make({ name, setup })
  await page.goto(`${accounts.test.url}/environments/${environment.id}?tab=trial`)
  return environment
}
/** Waits for the trial of an environment, and returns the names of its Session. */
const trialOf = ({ id }: Environment) =>
  until('the trial', async () => {
    const { rows } = await accounts.test.db.database.query<{ id: string; organizationId: string }>(
      `select s.id, s.organization_id as "organizationId" from sessions s
       join environment_trials t on t.organization_id = s.organization_id and t.session_id = s.id
       where s.environment_id = $1`,
      [id],
    )
    return rows[0]
  })
/** Waits until the trial of an environment has ended so, and its sandbox is given back. */
const ended = ({ id }: Environment, outcome: string) =>
  until(`that the trial ended as ${outcome}`, async () => {
    const { rows } = await accounts.test.db.database.query(
      `select 1 from sessions s
       join environment_trials t on t.organization_id = s.organization_id and t.session_id = s.id
       where s.environment_id = $1 and s.archived_at is not null and t.outcome = $2
         and not exists (select from leases l where l.session_id = s.id and l.ended_at is null)`,
      [id, outcome],
    )
    return rows.length > 0
  })
const button = () => page.getByRole('button', { name: 'Try revision 1', exact: true })
const log = () => page.getByRole('region', { name: 'Trial', exact: true })
const outcome = (text: string | RegExp) => log().getByRole('status').filter({ hasText: text })
/** Waits until the log shows a text, in whatever elements. */
const wrote = (text: string) =>
  until(`that the log shows ${text}`, async () => (await log().textContent())?.includes(text) === true)

describe('a trial of an environment', () => {
  it('shows the log while the script runs, and gives the sandbox back', async () => {
    const environment = await open(
      'Web tests',
      `echo 'Installing the browser …'\n${waitFor('go')}\necho 'chromium 140 is ready'\necho '214 packages in 6 s'`,
    )
    // The page may be drawn before its data is there, so each check waits for its element.
    await button().waitFor()
    await shoot(page, 'trial-empty')
    expect(await pageFaults(page)).toEqual([])
    await button().click()
    await outcome('Revision 1 is being applied').waitFor()
    await wrote('Installing the browser')
    const { test } = accounts
    await touch(test.db.database, test.dataDir, await trialOf(environment), 'go')
    await outcome(/^Revision 1 works: it was applied/).waitFor()
    await wrote('chromium 140 is ready')
    await ended(environment, 'succeeded')
    // The log does not change any more, so a check meets no row that is being replaced.
    await shoot(page, 'trial')
    expect(await pageFaults(page)).toEqual([])
  })

  it('says why it failed', async () => {
    await open('Nightly build', 'echo nothing to build\nexit 3')
    await button().click()
    await outcome(/^Revision 1 failed in .* with exit code 3$/).waitFor()
    await wrote('nothing to build')
    await shoot(page, 'trial-failed')
    expect(await pageFaults(page)).toEqual([])
  })

  it('goes on while its person looks elsewhere, and stops when told to', async () => {
    const environment = await open('Load test', `echo begun\n${waitFor('never')}`)
    await button().click()
    await wrote('begun')
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page.getByRole('link', { name: 'Trial', exact: true }).click()
    await wrote('begun')
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await outcome('Revision 1 was stopped').waitFor()
    await ended(environment, 'asked')
  })

  it('ends with its page', async () => {
    const environment = await open('Soak test', `echo begun\n${waitFor('never')}`)
    await button().click()
    await wrote('begun')
    await page.goto(`${accounts.test.url}/environments`)
    await ended(environment, 'asked')
  })

  it('is in no list of Sessions', async () => {
    for (const list of ['/cloud/sessions', '/cloud/sessions?archived=only']) {
      expect((await colleague.get<{ sessions: unknown[] }>(list)).body.sessions).toEqual([])
    }
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
