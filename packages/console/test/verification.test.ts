import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyStatement } from '@berth/client'
import type { Environment, PublicationPage, Verification, VerificationPage } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { waitFor } from '@berth/testing/environments/applying.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let environment: Environment
let at: Delivering
let without: Delivering
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { test } = accounts
  environment = await new Environments(test.api).make({
    name: 'Node tests',
    requireVerified: true,
    checks: [
      { name: 'types', run: 'echo "no errors in 42 files"' },
      {
        name: 'unit tests',
        run: `echo "running 12 tests"; ${waitFor('../go')}; echo "12 tests passed"; grep -q Hello greet.ts`,
      },
      { name: 'spelling', run: 'echo "greet.ts:3: recieve"; exit 1', required: false },
      { name: 'docs', run: 'false', paths: ['docs/**'] },
    ],
  })
  const repository = await localRepository(test, 'sample/checked', {
    'greet.ts': greetingOf('Hello'),
    'greet.test.ts': "it('greets', () => {\n  expect(greet('you')).toBe('Hello, you!')\n})\n",
    Makefile: 'test:\n\ttrue\n',
  })
  const source = { grantId: repository.grantId, repositoryId: repository.repository.repositoryId }
  const on = async (title: string, more: object) =>
    Delivering.of(test, await test.api.createSession({ runtime: 'shell', title, source, ...more }, 'true'))
  at = await on('Greet in the morning', { environment: { id: environment.id } })
  without = await on('Tidy the greeting', { environment: null })
  for (const each of [at, without]) await change(each, 'Hello and good morning')
  const { email } = await personWithPassword(test.db.database, test.tenant.organizationId, { role: 'admin' })
  visitor = await openVisitor(stack)
  page = visitor.page
  page.setDefaultTimeout(60_000)
  await openSignedIn(page, `${test.url}/sessions/${at.session.id}/review`, { email })
})
afterAll(() => stack.disposeAsync())

const greetingOf = (text: string) => `export const greet = (name: string) => \`${text}, \${name}!\`\n`

/** Changes the greeting, and skips its test. */
async function change({ project }: Delivering, text: string): Promise<void> {
  await writeFile(join(project, 'greet.ts'), greetingOf(text))
  await writeFile(
    join(project, 'greet.test.ts'),
    "it.skip('greets', () => {\n  expect(greet('you')).toBe('Hello, you!')\n})\n",
  )
}

const section = () => page.getByRole('region', { name: 'Verification', exact: true })
const outcome = (text: string | RegExp) => section().getByRole('status').filter({ hasText: text })
const opened = () => section().getByRole('button', { name: /erified|Verifying/ })
const check = (name: string) => section().getByRole('listitem').filter({ hasText: name })

async function newest(): Promise<Verification | undefined> {
  const { body } = await accounts.test.api.get<VerificationPage>(at.path('/repository/verifications?limit=1'))
  return body.verifications[0]
}

/** Lets the check go on that waits in the sandbox of the newest verification. */
async function go(): Promise<void> {
  await until('that a check waits', async () =>
    (await newest())?.checks.some(({ name, state }) => name === 'unit tests' && state === 'running'),
  )
  const { db, dataDir } = accounts.test
  const { rows } = await db.database.query<{ id: string; organizationId: string }>(
    `select sandbox_id as id, organization_id as "organizationId" from verifications where session_id = $1
     order by created_at desc limit 1`,
    [at.session.id],
  )
  const [sandbox] = rows
  if (sandbox === undefined) throw new Error('no verification')
  await touch(db.database, dataDir, sandbox, 'go')
}

describe('the verification of a review', () => {
  it('is begun there and followed live, check by check', async () => {
    await outcome('Not verified').waitFor()
    await opened().click()
    await section().getByText('run on exactly this revision, in a fresh sandbox').waitFor()
    await section().getByText('publishes nothing that its checks have not passed').waitFor()
    await shoot(page, 'verification-none')
    expect(await pageFaults(page)).toEqual([])
    await section().getByRole('button', { name: 'Verify', exact: true }).click()
    await outcome(/^Verifying/).waitFor()
    await check('types').filter({ hasText: 'passed' }).waitFor()
    await check('unit tests').getByText('running 12 tests').waitFor()
    await outcome('1 of 4 checks done').waitFor()
    await shoot(page, 'verification-running')
    expect(await pageFaults(page)).toEqual([])
    await go()
    await outcome(/^Verified.*2 of 3 checks passed, 1 left out/).waitFor()
    await section().getByText('What would be published is what was checked: revision').waitFor()
  })

  it('shows what each check wrote: of one that failed at once, of others at a press, and the whole of it', async () => {
    await check('spelling').getByText('exit code 1').waitFor()
    await check('spelling').getByText('recieve').waitFor()
    await check('docs').getByText('none of its paths changed').waitFor()
    expect(await check('unit tests').getByText('12 tests passed').count()).toBe(0)
    await check('unit tests').getByRole('button').click()
    await check('unit tests').getByText('12 tests passed').waitFor()
    await shoot(page, 'verification')
    expect(await pageFaults(page)).toEqual([])
    await check('unit tests').getByRole('link', { name: 'The whole log' }).click()
    await page.getByRole('region', { name: 'Work' }).getByText('12 tests passed').waitFor()
    await page.goBack()
  })

  it('is run anew if somebody wants that, and cancelled: the result before it stands', async () => {
    await section().getByRole('button', { name: 'Run again' }).click()
    await outcome('1 of 4 checks done').waitFor()
    await section().getByRole('button', { name: 'Cancel' }).click()
    await outcome(/^Verified/).waitFor()
    expect((await newest())?.state).toBe('cancelled')
  })

  it('marks what must not be missed at its line, as in the list', async () => {
    const lines = page.getByRole('region', { name: 'Changed lines' })
    const note = lines.getByRole('checkbox', { name: /^Seen at its line: / })
    await note.waitFor()
    await shoot(page, 'review-signal-at-line')
    await note.click()
    await page.getByRole('region', { name: 'Signals' }).getByText('all seen').waitFor()
    await note.click()
    await page.getByRole('region', { name: 'Signals' }).getByText('1 not seen').waitFor()
  })

  it('says that other changes were checked than would be published now', async () => {
    await change(at, 'Hello again')
    await page.reload()
    await outcome('Not verified').waitFor()
    await opened().click()
    await section().getByText('What was checked is not what would be published').waitFor()
    await shoot(page, 'verification-other')
  })
})

describe('publishing', () => {
  it('waits for the checks where the environment wants that, and says so', async () => {
    await page.getByRole('button', { name: 'Publish…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('publishes only what its checks have passed').waitFor()
    await dialog.getByLabel('Title').fill('Greet again')
    await shoot(page, 'publish-unverified')
    await dialog.getByRole('button', { name: 'Verify, then open the pull request' }).click()
    await dialog.getByText('Waits for the checks').waitFor()
    await dialog.getByText('while this dialog is open').scrollIntoViewIfNeeded()
    await shoot(page, 'publish-waits')
    expect(await pageFaults(page)).toEqual([])
    await go()
    await dialog.getByText('Published as pull request #1.').waitFor()
    const { body } = await accounts.test.api.get<{ publications: readonly object[] }>(at.path('/publications'))
    expect(body.publications).toMatchObject([{ status: 'succeeded', revision: (await newest())?.revision }])
    await dialog.getByRole('button', { name: 'Done' }).click()
  })

  it('ends with its evidence: the signed statement, which verifies', async () => {
    const deliveries = page.getByRole('list', { name: 'Deliveries' })
    await deliveries.getByText('Evidence: a signed statement').waitFor()
    await shoot(page, 'evidence')
    expect(await pageFaults(page)).toEqual([])
    const saving = page.waitForEvent('download')
    await deliveries.getByRole('button', { name: 'Download the statement' }).click()
    const saved = await saving
    const { body } = await accounts.test.api.get<PublicationPage>(at.path('/publications'))
    const commit = body.publications[0]?.result?.commitSha ?? ''
    expect(saved.suggestedFilename()).toBe(`statement-${commit.slice(0, 12)}.intoto.json`)
    const keys = await (await fetch(`${accounts.test.url}/.well-known/berth-keys.json`)).json()
    const verdict = await verifyStatement(await readFile(await saved.path()), keys, { commit })
    expect(verdict).toMatchObject({ verified: true })
    const docs = await deliveries.getByRole('link', { name: 'How to verify it' }).getAttribute('href')
    expect((await fetch(`${accounts.test.url}${docs}`)).status).toBe(200)
  })

  it('does not happen if the checks fail', async () => {
    await change(at, 'Good evening')
    await page.reload()
    await page.getByRole('button', { name: 'Publish…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Verify, then open the pull request' }).click()
    await dialog.getByText('Waits for the checks').waitFor()
    await go()
    await dialog.getByText('1 required check failed on exactly what would be published').waitFor()
    await dialog.getByText('exit code 1').first().waitFor()
    await shoot(page, 'publish-failed-checks')
    expect(await pageFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const { body } = await accounts.test.api.get<{ publications: readonly object[] }>(at.path('/publications'))
    expect(body.publications).toHaveLength(1)
  })
})

describe('a Session without checks', () => {
  it('has some proposed, which a person puts into an environment and saves', async () => {
    await page.goto(`${accounts.test.url}/sessions/${without.session.id}/review`)
    await page.getByRole('button', { name: 'Add some…' }).click()
    await shoot(page, 'checks-proposed')
    await page.getByRole('button', { name: 'Put them into a new environment' }).click()
    const document = page.getByLabel('Document as JSON')
    await document.getByText('make test').waitFor()
    await shoot(page, 'checks-taken')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'sample/checked' }).waitFor()
    const { body } = await new Environments(accounts.test.api).list()
    const made = body.environments.find(({ name }) => name === 'sample/checked')
    expect(made?.document.checks).toMatchObject([{ name: 'test', run: 'make test' }])
  })

  it('never meets the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
