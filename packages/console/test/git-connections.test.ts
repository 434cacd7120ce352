import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Connection, GitAccountList, GitConnection, GitConnectionList } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import type { Answer } from '@berth/testing/api/api.ts'
import { ConsolePage, givePassword, personWithPassword } from '@berth/testing/console/console-page.ts'
import { gitHostConfig, hostIdOf } from '@berth/testing/git/git-host-config.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let github: GitHubServer
beforeAll(async () => {
  github = stack.use(await GitHubServer.start())
  accounts = stack.use(
    await startAccounts({
      config: { gitHosts: [gitHostConfig(github)] },
      variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    }),
  )
  for (const [id, fullName] of [
    [71, 'acme/shop'],
    [72, 'acme/site'],
  ] as const) {
    const gitDir = await sampleRepository(join(accounts.test.dataDir, 'served'), fullName)
    github.addRepository({ id, fullName, gitDir, installations: ['71'] })
  }
  github.people.install(71, 'acme', 'Organization', ['ada', 'bob'])
  github.people.install(72, 'ada', 'User', ['ada', 'bob'])
  github.people.install(73, 'victim', 'Organization', ['eve'])
  github.people.roles.set('acme/ada', { state: 'active', role: 'admin' })
  github.people.roles.set('acme/bob', { state: 'active', role: 'member' })
  for (const login of ['ada', 'bob', 'eve']) github.people.person(login)
})
beforeEach(() => {
  github.people.tokenMs = 8 * 3_600_000
  github.people.readsMembers = true
  github.mend()
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database

/** Somebody at a browser of the console. */
async function atBrowser(role: 'admin' | 'member' = 'admin', organizationId = accounts.test.tenant.organizationId) {
  const person = await personWithPassword(db(), organizationId, { role })
  const page = new ConsolePage(accounts.test.url, organizationId)
  await page.signIn(person)
  return { person, page }
}

/** Begins a connection and lets somebody answer at the host. @returns the parameters that the page then finds in its address */
async function answered(page: ConsolePage, login: string | null, body: object = {}): Promise<URLSearchParams> {
  const begun = await page.call('POST', '/cloud/git-connections', { host: hostIdOf(github), ...body })
  expect(outcome(begun)).toBe('200')
  github.people.signedIn = login
  const redirect = await fetch(String(begun.body['url']), { redirect: 'manual' })
  const back = new URL(redirect.headers.get('location') ?? '')
  expect(back.href).toMatch(`${accounts.test.url}/cloud/git-connections/callback?`)
  // From another site no cookie comes along.
  const landed = await fetch(back, { redirect: 'manual' })
  expect([landed.status, landed.headers.get('set-cookie')]).toEqual([303, null])
  const [place, fragment] = (landed.headers.get('location') ?? '').split('#')
  expect(place).toBe('/settings/git-connected')
  return new URLSearchParams(fragment)
}

const finish = (page: ConsolePage, { state, code }: { state: string | null; code: string | null }) =>
  page.call('POST', '/cloud/git-connections/callback', { state, code })
const both = (params: URLSearchParams) => ({ state: params.get('state'), code: params.get('code') })

async function connect(page: ConsolePage, login: string): Promise<GitConnection> {
  const answer = await finish(page, both(await answered(page, login)))
  expect(outcome(answer)).toBe('200')
  return answer.body['connection'] as GitConnection
}

const listed = async (page: ConsolePage) =>
  (await page.get('/cloud/git-connections')).body as unknown as GitConnectionList
const accountsOf = async (page: ConsolePage, { id }: GitConnection) =>
  (await page.get(`/cloud/git-connections/${id}/accounts`)).body as unknown as GitAccountList
const share = (page: ConsolePage, { id }: Pick<GitConnection, 'id'>, body: object): Promise<Answer> =>
  page.call('POST', `/cloud/git-connections/${id}/accounts`, body)
const shared = (answer: Answer) => answer.body['connection'] as Connection

describe("a person's own account", () => {
  it('is connected by the way over the host, and shown without a secret', async () => {
    const { page } = await atBrowser('member')
    expect(await listed(page)).toEqual({ connections: [], hosts: [{ host: hostIdOf(github), provider: 'github' }] })
    const answer = await finish(page, both(await answered(page, 'ada', { returnTo: '/sessions/new' })))
    expect(answer.body).toMatchObject({ connection: { login: 'ada', status: 'active' }, returnTo: '/sessions/new' })
    const { text } = await page.get('/cloud/git-connections')
    expect(text).toContain('"ada"')
    expect(text).not.toMatch(/gh[ur]_/)
  })

  it('keeps its tokens sealed', async () => {
    const { page } = await atBrowser()
    const { id } = await connect(page, 'ada')
    const { rows } = await db().query<{ tokens: Buffer }>('select tokens from host_people where id = $1', [id])
    expect(rows[0]?.tokens.toString('latin1')).not.toMatch(/gh[ur]_/)
    expect(JSON.parse(accounts.masterKey.open(rows[0]?.tokens ?? Buffer.of(), `host-person/${id}`).toString())).toEqual(
      {
        access: expect.stringMatching(/^ghu_/),
        refresh: expect.stringMatching(/^ghr_/),
      },
    )
  })

  it('is not connected if the person refuses, and sends a browser to no other site afterwards', async () => {
    const { page } = await atBrowser()
    const params = await answered(page, null)
    expect([params.get('error'), params.get('code')]).toEqual(['access_denied', null])
    const odd = await finish(page, both(await answered(page, 'ada', { returnTo: 'https://evil.example/' })))
    expect(odd.body['returnTo']).toBe('/')
    const local = await page.call('POST', '/cloud/git-connections', { host: 'local' })
    expect(outcome(local)).toBe('404 git_host_not_found')
  })

  it('replaces the one before, whose token the host then refuses', async () => {
    const { page } = await atBrowser()
    await connect(page, 'ada')
    const before = github.people.revoked.length
    const second = await connect(page, 'bob')
    expect((await listed(page)).connections).toEqual([second])
    expect(github.people.revoked.length).toBe(before + 1)
  })

  it('is ended by its person, at the host too', async () => {
    const { page } = await atBrowser()
    const { id } = await connect(page, 'ada')
    const before = github.people.revoked.length
    expect(outcome(await page.call('DELETE', `/cloud/git-connections/${id}`))).toBe('204')
    expect(github.people.revoked.length).toBe(before + 1)
    expect((await listed(page)).connections).toEqual([])
    expect(outcome(await page.call('DELETE', `/cloud/git-connections/${id}`))).toBe('404 connection_not_found')
  })

  it("is renewed once by many requests at a time, and has expired once the host doesn't renew it", async () => {
    const { page } = await atBrowser()
    github.people.tokenMs = 60_000
    const own = await connect(page, 'ada')
    github.people.tokenMs = 8 * 3_600_000
    const before = github.people.refreshes
    const answers = await Promise.all([1, 2, 3, 4].map(() => page.get(`/cloud/git-connections/${own.id}/accounts`)))
    expect(answers.map(outcome)).toEqual(['200', '200', '200', '200'])
    expect(github.people.refreshes).toBe(before + 1)
    github.people.forgetTokens()
    const refused = await page.get(`/cloud/git-connections/${own.id}/accounts`)
    expect(outcome(refused)).toBe('403 cloud_github_connection_required')
    expect((await listed(page)).connections).toMatchObject([{ id: own.id, status: 'expired' }])
  })

  it('does not expire because the host is away', async () => {
    const { page } = await atBrowser()
    github.people.tokenMs = 60_000
    const own = await connect(page, 'ada')
    github.fail({ when: /access_token$/, answer: { status: 502 } })
    const away = await page.get(`/cloud/git-connections/${own.id}/accounts`)
    expect(outcome(away)).toBe('503 cloud_workspace_unavailable')
    github.mend()
    expect(outcome(await page.get(`/cloud/git-connections/${own.id}/accounts`))).toBe('200')
  })
})

describe('the state of a connection that was begun', () => {
  it('works once, also if it is presented twice at the same moment', async () => {
    const { page } = await atBrowser()
    const params = both(await answered(page, 'ada'))
    const answers = (await Promise.all([finish(page, params), finish(page, params)])).map(outcome)
    expect(answers.toSorted()).toEqual(['200', '400 git_connection_refused'])
    expect(outcome(await finish(page, params))).toBe('400 git_connection_refused')
  })

  it('is refused if it is forged, or with the code of another', async () => {
    const { page } = await atBrowser()
    const params = both(await answered(page, 'ada'))
    const forged = await finish(page, { ...params, state: randomUUID() })
    expect(outcome(forged)).toBe('400 git_connection_refused')
    // PKCE: the verifier of this state does not fit the code of the other.
    const other = both(await answered(page, 'bob'))
    expect(outcome(await finish(page, { ...params, code: other.code }))).toBe('400 git_connection_refused')
    expect((await listed(page)).connections).toEqual([])
  })

  it("gives nobody else's account to a victim, nor the victim's to anybody else", async () => {
    const [attacker, victim] = [await atBrowser(), await atBrowser()]
    const params = both(await answered(attacker.page, 'eve'))
    expect(outcome(await finish(victim.page, params))).toBe('400 git_connection_refused')
    expect((await listed(victim.page)).connections).toEqual([])
    // Whoever failed has not ended it for the browser that began it.
    expect(outcome(await finish(attacker.page, params))).toBe('200')
  })

  it('belongs to one browser of the person, and ends with its session', async () => {
    const { person, page } = await atBrowser()
    const other = new ConsolePage(accounts.test.url, page.organizationId)
    await other.signIn(person)
    const params = both(await answered(page, 'ada'))
    expect(outcome(await finish(other, params))).toBe('400 git_connection_refused')
    const again = both(await answered(page, 'ada'))
    await page.call('POST', '/cloud/auth/sign-out')
    expect(outcome(await finish(page, again))).toMatch(/^401/)
    const { rows } = await db().query('select 1 from host_people where person_id = $1', [person.personId])
    expect(rows).toEqual([])
  })

  it('lasts ten minutes', async () => {
    const { page } = await atBrowser()
    const params = both(await answered(page, 'ada'))
    await db().query(`update host_people_begun set expires_at = now() - interval '1 second'`)
    expect(outcome(await finish(page, params))).toBe('400 git_connection_refused')
  })

  it('is for browsers alone, and for the page itself', async () => {
    const { api } = await accounts.person({})
    const body = { host: hostIdOf(github) }
    expect(outcome(await api.call('POST', '/cloud/git-connections', body))).toBe('401 sign_in_required')
    const params = { state: 'a', code: 'b' }
    expect(outcome(await api.call('POST', '/cloud/git-connections/callback', params))).toBe('401 sign_in_required')
    const { page } = await atBrowser()
    const crossing = await page.call('POST', '/cloud/git-connections', body, { 'sec-fetch-site': 'same-site' })
    expect(outcome(crossing)).toBe('403 cross_site_request_refused')
  })

  it('is not begun by news of an installation, whatever its id', async () => {
    const landed = await fetch(
      `${accounts.test.url}/cloud/git-connections/callback?installation_id=73&setup_action=install&code=a&state=b`,
      { redirect: 'manual' },
    )
    expect([landed.status, landed.headers.get('location')]).toEqual([303, '/organization/git?dialog=choose'])
  })
})

describe('an organization', () => {
  it('is connected to an account that its administrator administers, with all that the App reaches', async () => {
    const { page } = await atBrowser()
    const own = await connect(page, 'ada')
    const list = await accountsOf(page, own)
    expect(list).toEqual({
      accounts: [
        {
          ...{ account: '71', accountLogin: 'acme', kind: 'organization', repositories: 'all' },
          ...{ administered: true, connected: false },
        },
        {
          ...{ account: '72', accountLogin: 'ada', kind: 'person', repositories: 'all' },
          ...{ administered: true, connected: false },
        },
      ],
      installUrl: `${github.url}/github-apps/berth/installations/new`,
    })
    const made = await share(page, own, { account: '71' })
    expect(outcome(made)).toBe('201')
    expect(shared(made)).toMatchObject({
      accountLogin: 'acme',
      allRepositories: true,
      personalAccess: false,
      repositories: [{ fullName: 'acme/shop' }, { fullName: 'acme/site' }],
    })
    expect((await accountsOf(page, own)).accounts[0]?.connected).toBe(true)
    const names = (await page.get('/cloud/repositories')).body['repositories'] as { fullName: string }[]
    expect(names.map(({ fullName }) => fullName)).toEqual(['acme/shop', 'acme/site'])
    // A connection may be made a second time.
    expect(shared(await share(page, own, { account: '71' })).id).toBe(shared(made).id)
    const { organizationId } = accounts.test.tenant
    const removed = await page.call(
      'DELETE',
      `/cloud/account/organizations/${organizationId}/connections/${shared(made).id}`,
    )
    expect(outcome(removed)).toBe('204')
  })

  it('is told of many organizations by as many requests as GitHub has pages of them', async () => {
    const organizations = Array.from({ length: 101 }, (_, at) => `many-${at}`)
    github.people.person('max')
    for (const [at, name] of organizations.entries()) {
      github.people.install(1000 + at, name, 'Organization', ['max'])
      github.people.roles.set(`${name}/max`, { state: 'active', role: at === 100 ? 'admin' : 'member' })
    }
    const { page } = await atBrowser()
    const own = await connect(page, 'max')
    github.requests.length = 0
    const { accounts: listed } = await accountsOf(page, own)
    const administered = listed.filter(account => account.administered).map(({ accountLogin }) => accountLogin)
    expect(administered).toEqual(['many-100'])
    expect(github.requests.filter(line => line.includes('/user/memberships'))).toEqual([
      'GET /user/memberships/orgs',
      'GET /user/memberships/orgs',
    ])
  })

  it("is never connected to somebody else's account, whatever its administrator sees of it", async () => {
    const { page } = await atBrowser()
    const bob = await connect(page, 'bob')
    // A member of the organization, a guest of the person, and a number that was guessed.
    expect((await accountsOf(page, bob)).accounts.map(({ administered }) => administered)).toEqual([false, false])
    for (const account of ['71', '72', '73', '999'])
      expect(outcome(await share(page, bob, { account }))).toBe('403 cloud_repository_permission_denied')
    github.people.roles.set('acme/bob', { state: 'pending', role: 'admin' })
    expect(outcome(await share(page, bob, { account: '71' }))).toBe('403 cloud_repository_permission_denied')
    github.people.roles.set('acme/bob', { state: 'active', role: 'member' })
    const ada = await connect(page, 'ada')
    github.people.readsMembers = false
    expect(outcome(await share(page, ada, { account: '71' }))).toBe('403 cloud_repository_permission_denied')
    github.people.readsMembers = true
    const [acme] = github.people.installations
    if (acme !== undefined) acme.suspended = true
    expect(outcome(await share(page, ada, { account: '71' }))).toBe('403 cloud_repository_permission_denied')
    if (acme !== undefined) acme.suspended = false
  })

  it('is connected by administrators alone, with accounts of their own, and after a recent sign-in', async () => {
    const [{ page }, member] = [await atBrowser(), await atBrowser('member')]
    const own = await connect(page, 'ada')
    const theirs = await connect(member.page, 'ada')
    expect(outcome(await share(member.page, theirs, { account: '71' }))).toBe('403 insufficient_scope')
    expect(outcome(await member.page.get(`/cloud/git-connections/${theirs.id}/accounts`))).toBe(
      '403 insufficient_scope',
    )
    for (const answer of [
      await share(page, theirs, { account: '71' }),
      await page.get(`/cloud/git-connections/${theirs.id}/accounts`),
      await page.call('DELETE', `/cloud/git-connections/${theirs.id}`),
    ])
      expect(outcome(answer)).toBe('404 connection_not_found')
    const stranger = await atBrowser('admin', (await accounts.test.newTenant()).tenant.organizationId)
    expect(outcome(await share(stranger.page, own, { account: '71' }))).toBe('404 connection_not_found')
    await db().query(`update console_sessions set signed_in_at = now() - interval '1 hour'`)
    expect(outcome(await share(page, own, { account: '71' }))).toBe('403 recent_sign_in_required')
  })
})

describe('a connection for people with access of their own', () => {
  /** An organization of its own that is connected so. */
  async function guarded() {
    const { organizationId } = (await accounts.test.newTenant()).tenant
    const admin = await atBrowser('admin', organizationId)
    const made = await share(admin.page, await connect(admin.page, 'ada'), { account: '71', personalAccess: true })
    expect(shared(made).personalAccess).toBe(true)
    const [first] = shared(made).repositories
    return { organizationId, admin, connection: shared(made), grantId: first?.grantId ?? '' }
  }

  it('lets a person start a Session only with an account that reaches the repository', async () => {
    const { organizationId, grantId } = await guarded()
    const { page } = await atBrowser('member', organizationId)
    const start = () => page.call('PUT', `/cloud/sessions/${randomUUID()}`, { source: { grantId, repositoryId: '71' } })
    const branches = () => page.get(`/cloud/repositories/${grantId}/71/branches`)
    expect(outcome(await start())).toBe('403 cloud_github_connection_required')
    expect(outcome(await branches())).toBe('403 cloud_github_connection_required')
    await connect(page, 'bob')
    expect(outcome(await start())).toBe('403 cloud_repository_permission_denied')
    github.people.rights.set('bob/71', { push: false, pull: true })
    expect(outcome(await start())).toBe('201')
    expect(outcome(await branches())).toBe('200')
    // Whoever loses access at the host has lost it here.
    github.people.rights.delete('bob/71')
    expect(outcome(await start())).toBe('403 cloud_repository_permission_denied')
    github.people.rights.set('bob/71', { push: false, pull: true })
    github.people.forgetTokens()
    expect(outcome(await start())).toBe('403 cloud_github_connection_required')
    expect((await listed(page)).connections).toMatchObject([{ status: 'expired' }])
  })

  it('lets only people who may push there publish and merge', async () => {
    const { organizationId, grantId } = await guarded()
    const { page } = await atBrowser('member', organizationId)
    await connect(page, 'bob')
    github.people.rights.set('bob/71', { push: false, pull: true })
    const id = randomUUID()
    const made = await page.call('PUT', `/cloud/sessions/${id}`, { source: { grantId, repositoryId: '71' } })
    expect(outcome(made)).toBe('201')
    const publication = `/cloud/v1/sessions/${id}/publications/${randomUUID()}`
    const publish = () => page.call('PUT', publication, { revision: '0'.repeat(64), title: 'Change it' })
    const merge = () => page.call('PUT', `${publication}/merges/${randomUUID()}`, { strategy: 'merge' })
    expect(outcome(await publish())).toBe('403 cloud_repository_permission_denied')
    expect(outcome(await merge())).toBe('403 cloud_repository_permission_denied')
    github.people.rights.set('bob/71', { push: true, pull: true })
    // The next check is about the revision.
    expect(outcome(await publish())).toBe('400 invalid_request')
    expect(outcome(await merge())).toBe('404 cloud_session_not_found')
  })

  it('is made and unmade by administrators, at hosts that know people', async () => {
    const { organizationId, admin, connection, grantId } = await guarded()
    const path = `/cloud/account/organizations/${organizationId}/connections/${connection.id}`
    const opened = await admin.page.call('PATCH', path, { personalAccess: false })
    expect(shared(opened)).toMatchObject({ id: connection.id, personalAccess: false })
    const person = await signInPerson(db(), organizationId)
    await givePassword(db(), person)
    const page = new ConsolePage(accounts.test.url, organizationId)
    await page.signIn(person)
    const start = await page.call('PUT', `/cloud/sessions/${randomUUID()}`, { source: { grantId, repositoryId: '71' } })
    expect(outcome(start)).toBe('201')
    expect(outcome(await page.call('PATCH', path, { personalAccess: true }))).toBe('403 insufficient_scope')
    const { rows } = await db().query<{ action: string }>(
      `select action from audit_log where organization_id = $1 and action ~ 'connection|git_account' order by at`,
      [organizationId],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'git_account.connected',
      'connection.added',
      'connection.changed',
    ])
  })
})
