import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { PullChecks, Session } from '@berth/contract'
import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import { LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { gitHostConfig, hostIdOf } from '@berth/testing/git/git-host-config.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

/** A Session of which a pull request was published, without a sandbox. */
interface Published {
  readonly sessionId: string
  readonly publicationId: string
  readonly repositoryId: string
  readonly head: string
}

const stack = new AsyncDisposableStack()
let accounts: Accounts
let github: GitHubServer
let own: Awaited<ReturnType<Accounts['person']>>
let atGitHub: Published
let local: Published
let localHost: LocalHost
let visitor: Visitor
let page: Page
beforeAll(async () => {
  github = stack.use(await GitHubServer.start())
  accounts = stack.use(await startAccounts({ config: { gitHosts: [gitHostConfig(github)] } }))
  const { db, dataDir } = accounts.test
  localHost = new LocalHost(db.database, systemClock, join(dataDir, 'repositories'), () => accounts.test.url)
  own = await accounts.person({})
  await givePassword(db.database, own.who)
  atGitHub = await publishAtGitHub()
  local = await publishLocally()
  visitor = await openVisitor(stack)
  page = visitor.page
})
beforeEach(() => {
  github.mend()
  github.checks.mayRead = true
})
afterAll(() => stack.disposeAsync())

async function publishAtGitHub(): Promise<Published> {
  const gitDir = await sampleRepository(join(accounts.test.dataDir, 'served'), 'acme/shop')
  github.addRepository({ id: 71, fullName: 'acme/shop', gitDir, installations: ['71'] }).blocked = true
  await commitTo(gitDir, 'change', await tipOf(gitDir, 'main'), { 'NEW.md': 'new\n' })
  const head = await tipOf(gitDir, 'change')
  const pull = { repository: 71, number: 1, title: 'Mend the till', body: '', head: 'change', base: 'main' }
  github.pulls.push({ ...pull, draft: false, state: 'open', headOid: head, mergedAt: null, mergeCommitOid: null })
  const account = { host: hostIdOf(github), provider: 'github', account: '71', accountLogin: 'acme' }
  return publish(account, { repositoryId: '71', fullName: 'acme/shop' }, head, `${github.url}/acme/shop/pull/1`)
}

async function publishLocally(): Promise<Published> {
  const gitDir = await sampleRepository(join(accounts.test.dataDir, 'repositories'), 'sample/till')
  await commitTo(gitDir, 'change', await tipOf(gitDir, 'main'), { 'NEW.md': 'new\n' })
  const ref = await localHost.findRepository('sample/till')
  if (ref === null) throw new Error('there is no repository')
  await localHost.setRule(ref, 'main', { requiredChecks: ['tests'] })
  const opened = await localHost.openPull(ref, {
    title: 'Mend it',
    body: '',
    head: 'change',
    base: 'main',
    draft: false,
  })
  const account = { host: 'local', provider: 'local', account: 'local', accountLogin: 'local' }
  const { repositoryId } = ref
  return publish(account, { repositoryId, fullName: 'sample/till' }, opened.headOid, opened.url)
}

/** Writes messages of a person and an agent into the log of a Session, as its worker would have. */
async function converse({ sessionId }: Published): Promise<void> {
  const { database } = accounts.test.db
  const key = { organizationId: accounts.test.tenant.organizationId, sessionId }
  const message = (role: string, text: string) => ({
    type: 'svc.message.created' as const,
    data: { messageId: randomUUID(), role, text },
  })
  await database.transaction(tx =>
    appendEvents(
      tx,
      key,
      [
        message('user', 'The till rounds half a cent down. Mend it.'),
        message('assistant', 'It rounds to even now, as the tax office asks, and `till.test.ts` has both cases.'),
      ],
      new Date(),
    ),
  )
}

async function publish(
  account: Parameters<typeof grantRepository>[2],
  repository: Parameters<typeof grantRepository>[3],
  head: string,
  url: string,
): Promise<Published> {
  const { database: db } = accounts.test.db
  const { organizationId } = accounts.test.tenant
  const { id: installationId } = await provideOwnInstallation({ db, clock: systemClock }, organizationId)
  const grant = await grantRepository(db, { organizationId, installationId }, account, repository)
  const [sessionId, publicationId] = [randomUUID(), randomUUID()]
  const { repositoryId } = repository
  const source = { grantId: grant.id, repositoryId }
  const made = await own.api.put<{ session: Session }>(`/cloud/sessions/${sessionId}`, { title: 'Mend it', source })
  expect(outcome(made)).toBe('201')
  const [of, revision] = [[organizationId, sessionId], '0'.repeat(64)]
  await db.query(
    `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
       document_sha256, created_at) values ($1, $2, $3, '', '', '', 'main', $3, now())`,
    [...of, revision],
  )
  const result = {
    delivery: 'pull_request',
    branch: 'change',
    commitSha: head,
    pullRequest: { number: 1, url, draft: false, reused: false },
  }
  await db.query(
    `insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch,
       draft, status, result, due_at, created_at, updated_at, ended_at)
     values ($1, $2, $3, '', $4, 'Mend it', '', 'pull_request', 'change', false, 'succeeded', $5, now(), now(), now(), now())`,
    [...of, publicationId, revision, JSON.stringify(result)],
  )
  return { sessionId, publicationId, repositoryId, head }
}

const pathOf = ({ sessionId, publicationId }: Published) =>
  `/cloud/sessions/${sessionId}/publications/${publicationId}/checks`
const read = (api: Api, of: Published) => api.get<PullChecks>(pathOf(of))

describe('the checks of a pull request', () => {
  it('are told by name, with those that are required and not reported', async () => {
    const { checks } = github
    const run = (status: string, conclusion: string | null, details_url: string | null) => ({
      ...{ status, conclusion, details_url },
    })
    checks.runs.set('tests', run('completed', 'failure', 'https://ci.example/7'))
    checks.runs.set('lint', run('in_progress', null, 'javascript:alert(1)'))
    checks.runs.set('docs', run('completed', 'skipped', 'https://user:secret@ci.example/'))
    checks.statuses.set('deploy/preview', { state: 'success', target_url: 'http://preview.example/1' })
    checks.byProtection = ['tests']
    checks.byRules = ['license']
    const { body } = await read(own.api, atGitHub)
    expect(body).toMatchObject({ state: 'open', headOid: atGitHub.head, known: true, blockers: ['rules'] })
    expect(body.checks.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      { name: 'deploy/preview', state: 'success', required: false, url: 'http://preview.example/1' },
      { name: 'docs', state: 'skipped', required: false },
      { name: 'license', state: 'missing', required: true },
      { name: 'lint', state: 'pending', required: false },
      { name: 'tests', state: 'failure', required: true, url: 'https://ci.example/7' },
    ])
  })

  it('of a repository of the service are told as well', async () => {
    const { body } = await read(own.api, local)
    expect(body).toMatchObject({ state: 'open', blockers: ['checks'], known: true })
    expect(body.checks).toEqual([{ name: 'tests', state: 'missing', required: true }])
    const { body: pull } = await own.api.get<{ pull: { checks: unknown } }>(
      `/cloud/local-repositories/${local.repositoryId}/pulls/1`,
    )
    expect(pull.pull.checks).toEqual(body.checks)
  })

  it('stay unknown if the host hides them, and are an error only if the host fails', async () => {
    github.checks.mayRead = false
    expect((await read(own.api, atGitHub)).body).toMatchObject({ known: false, checks: [], blockers: ['rules'] })
    github.checks.mayRead = true
    github.fail({ when: /check-runs$/, answer: { status: 502 } })
    expect(outcome(await read(own.api, atGitHub))).toBe('503 cloud_workspace_unavailable')
  })

  it("are nobody else's", async () => {
    const { organizationId } = (await accounts.test.newTenant()).tenant
    const stranger = await accounts.person({ organizationId, role: 'admin' })
    expect(outcome(await read(stranger.api, atGitHub))).toBe('404 cloud_session_not_found')
    const mixed = { ...atGitHub, publicationId: local.publicationId }
    expect(outcome(await read(own.api, mixed))).toBe('404 cloud_session_not_found')
  })
})

describe('the page of a published Session', () => {
  const rows = () => page.getByRole('list', { name: 'Checks' }).getByRole('listitem')

  it('lists each check by name, with its link as a host, and says what the merge waits for', async () => {
    await converse(atGitHub)
    await openSignedIn(page, `${accounts.test.url}/sessions/${atGitHub.sessionId}?panel=changes`, own.who)
    await rows().first().waitFor()
    expect(await rows().count()).toBe(5)
    expect(await rows().nth(0).innerText()).toMatch(/tests\s+failed\s+Required\s+ci\.example/)
    expect(await rows().nth(1).innerText()).toMatch(/license\s+not reported yet\s+Required/)
    expect(await rows().getByRole('link').count()).toBe(2)
    await page.getByText('Waits for tests, license.').last().waitFor()
    await shoot(page, 'checks')
    expect(await pageFaults(page)).toEqual([])
  })

  it('follows them as they change, without a reload', async () => {
    github.checks.runs.set('tests', { status: 'completed', conclusion: 'success', details_url: 'https://ci.example/8' })
    await rows().filter({ hasText: 'tests' }).getByText('succeeded').waitFor()
    await page.getByText('Waits for license.').last().waitFor()
  })

  it('of a pull request of the service lists them too, and changes with them', async () => {
    const { body } = await own.api.get<{ pull: { url: string } }>(
      `/cloud/local-repositories/${local.repositoryId}/pulls/1`,
    )
    await page.goto(body.pull.url)
    await page.getByText('Waits for tests.').last().waitFor()
    await shoot(page, 'checks-pull')
    expect(await pageFaults(page)).toEqual([])
    const ref = { account: 'local', repositoryId: local.repositoryId }
    await page.getByLabel('Review', { exact: true }).fill('Why <b>so</b>?')
    await page.getByLabel('File').fill('hello.txt')
    await page.getByLabel('Line').fill('1')
    await page.getByRole('button', { name: 'Send' }).click()
    const review = page.getByRole('region', { name: 'Reviews' }).getByRole('listitem')
    await review.getByText('hello.txt:1').waitFor()
    await shoot(page, 'pull-review')
    expect(await pageFaults(page)).toEqual([])
    const { comments } = (await localHost.following.observe(ref, 1, null)) ?? {}
    expect(comments).toMatchObject([{ path: 'hello.txt', line: 1, body: 'Why <b>so</b>?', isBot: false }])
    await localHost.recordCheck(ref, { oid: local.head, name: 'tests', state: 'success' })
    await page.getByText('Ready to be merged from its Session.').waitFor()
    expect(visitor.complaints).toEqual([])
  })
})
