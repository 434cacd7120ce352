import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { LocalPull, LocalReview, MissingAccount, Repository, RepositoryGrant, Session } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Api } from '@berth/testing/api/api.ts'
import type { Tenant } from '@berth/testing/api/tenant.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runGit } from '../../src/git/run-git.ts'
import { LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { connectAccount } from '../../src/repositories/connect-account.ts'
import { replaceGrant, revokeGrant } from '../../src/repositories/end-grants.ts'
import { grantLocal } from '../../src/repositories/grant-local.ts'

type Page = { nextCursor: string | null; hasMore: boolean; missing?: MissingAccount[] }
type RepositoryList = Page & { repositories: Repository[] }
type GrantList = Page & { grants: RepositoryGrant[] }

let test: TestService
let server: GitHubServer
let root: string
let gitDir: string
const context = () => ({ db: test.db.database, clock: systemClock })
const hub = () => `github:${new URL(server.url).host}`
const account = (id: string) => ({ host: hub(), provider: 'github', account: id, accountLogin: `login-${id}` })

beforeAll(async () => {
  server = await GitHubServer.start()
  const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: server.privateKey }]
  test = await startTestService({ variables: { BERTH_ROLES: 'api' }, config: { gitHosts } })
  root = join(test.dataDir, 'repositories')
  gitDir = await sampleRepository(root)
  await sampleRepository(root, 'sample/second')
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Makes a tenant with a grant for the repositories of the data directory. */
async function localTenant(): Promise<{ tenant: Tenant; api: Api }> {
  const made = await test.newTenant()
  await grantLocal(context(), made.tenant)
  return made
}

let repositoryIds = 100
/** Makes a tenant with one repository, which its own installation on the GitHub server reaches. */
async function hubTenant() {
  const made = await test.newTenant()
  const id = ++repositoryIds
  const served = server.addRepository({ id, fullName: `hub/r${id}`, gitDir, installations: [String(id)] })
  const repository = { repositoryId: String(id), fullName: served.fullName }
  const grant = await grantRepository(test.db.database, made.tenant, account(String(id)), repository)
  return { ...made, served, grant, source: { grantId: grant.id, repositoryId: String(id) } }
}

async function everything(api: Api, limit: number): Promise<Repository[]> {
  const all: Repository[] = []
  let query = `?limit=${limit}`
  for (;;) {
    const { status, body, text } = await api.get<RepositoryList>(`/v1/repositories${query}`)
    if (status !== 200) throw new Error(text)
    expect(body.repositories.length).toBeLessThanOrEqual(limit)
    all.push(...body.repositories)
    if (!body.hasMore) return all
    query = `?limit=${limit}&cursor=${body.nextCursor}`
  }
}

const create = (api: Api, source: object, id: string = randomUUID()) =>
  api.put<{ session: Session; error?: string }>(`/v1/sessions/${id}`, { source })

describe('repositories', () => {
  it('of the data directory appear without registration, even ones added later', async () => {
    const { api } = await localTenant()
    const repositories = await everything(api, 50)
    expect(repositories.map(one => one.fullName)).toEqual(expect.arrayContaining(['sample/greeter', 'sample/second']))
    expect(repositories[0]).toMatchObject({ provider: 'local', defaultBranch: 'main', private: true })
    await sampleRepository(root, 'later/one')
    const more = await everything(api, 50)
    expect(more.map(one => one.fullName)).toContain('later/one')
    expect(more).toEqual(expect.arrayContaining(repositories))
  })

  it.each([1, 2, 3, 100])('are listed completely and once, %i to a page, from several hosts', async limit => {
    const { tenant, api, served } = await hubTenant()
    await grantLocal(context(), tenant)
    const names = (await everything(api, limit)).map(one => one.fullName)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(expect.arrayContaining(['sample/greeter', 'sample/second', served.fullName]))
  })

  it('include only the granted ones of an account that is not granted whole', async () => {
    const { tenant, api, served } = await hubTenant()
    const other = server.addRepository({
      ...{ id: ++repositoryIds, fullName: 'hub/not-granted', gitDir, installations: [String(served.id)] },
    })
    expect((await everything(api, 50)).map(one => one.fullName)).toEqual([served.fullName])
    await connectAccount(context(), tenant, account(String(served.id)), true)
    expect((await everything(api, 50)).map(one => one.fullName)).toEqual([served.fullName, other.fullName])
  })

  it.each([{ status: 500 }, { status: 401 }, 'never' as const])(
    'of other hosts are listed while one answers %j',
    async answer => {
      const { tenant, api } = await hubTenant()
      await grantLocal(context(), tenant)
      server.fail({ when: /^GET \/installation\/repositories/, answer })
      try {
        const { status, body } = await api.get<RepositoryList>('/v1/repositories')
        expect(status).toBe(200)
        expect(body.repositories.map(one => one.fullName)).toContain('sample/greeter')
      } finally {
        server.mend()
      }
    },
  )

  it.each([
    [{ status: 500 }, 'unavailable'],
    [{ status: 429 }, 'rate_limited'],
    ['never' as const, 'late'],
  ])('of a host that answers %j are asked for once more, and its account is named', async (answer, reason) => {
    const { tenant, api, served } = await hubTenant()
    await grantLocal(context(), tenant)
    const named = { provider: 'github', accountLogin: `login-${served.id}`, reason }
    server.fail({ when: /^GET \/installation\/repositories/, answer })
    try {
      const first = (await api.get<RepositoryList>('/v1/repositories')).body
      expect(first).toMatchObject({ hasMore: true, missing: [{ ...named, retried: true }] })
      const rest = `/v1/repositories?cursor=${first.nextCursor}`
      const still = (await api.get<RepositoryList>(rest)).body
      expect(still).toMatchObject({ repositories: [], hasMore: false, missing: [{ ...named, retried: false }] })
      server.mend()
      const { repositories, ...end } = (await api.get<RepositoryList>(rest)).body
      expect(repositories.map(one => one.fullName)).toEqual([served.fullName])
      expect(end).toEqual({ hasMore: false, nextCursor: expect.any(String) })
    } finally {
      server.mend()
    }
  })

  it('of more late accounts than a cursor has room for are said to be missing in the end', async () => {
    const { tenant, api } = await test.newTenant()
    const ids = Array.from({ length: 12 }, () => String(++repositoryIds))
    for (const id of ids) {
      server.addRepository({ id: Number(id), fullName: `hub/late-${id}`, gitDir, installations: [id] })
      await connectAccount(context(), tenant, account(id), true)
    }
    server.fail({ when: /^GET \/installation\/repositories/, answer: { status: 500 } })
    try {
      const still: string[] = []
      for (let query = '', more = true; more; ) {
        const { body } = await api.get<RepositoryList>(`/v1/repositories${query}`)
        for (const { accountLogin, retried } of body.missing ?? []) if (!retried) still.push(accountLogin)
        more = body.hasMore
        query = `?cursor=${body.nextCursor}`
      }
      expect(still.toSorted()).toEqual(ids.map(id => `login-${id}`).toSorted())
    } finally {
      server.mend()
    }
  })

  it('of a host that lets the service in no more are said to be missing', async () => {
    const { api } = await hubTenant()
    server.fail({ when: /^GET \/installation\/repositories/, answer: { status: 403 } })
    try {
      const missing = [expect.objectContaining({ reason: 'refused', retried: false })]
      const { body } = await api.get<RepositoryList>('/v1/repositories')
      expect(body).toEqual({ repositories: [], nextCursor: null, hasMore: false, missing })
    } finally {
      server.mend()
    }
  })

  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=',
    'cursor=',
    'cursor=x',
    `cursor=${'a'.repeat(513)}`,
    'limit=1&limit=2',
  ])('and grants refuse %s', async query => {
    for (const list of ['repositories', 'repository-grants']) {
      const answer = await test.api.get(`/v1/${list}?${query}`)
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_input'])
    }
    for (const unknown of ['other', 'constructor']) {
      expect((await test.api.get(`/v1/repositories?${unknown}=1`)).body.error).toBe('invalid_request')
    }
  })
})

describe('grants', () => {
  it('are listed newest first, including ended ones, page by page', async () => {
    const { tenant, api, grant } = await hubTenant()
    // Both may be made in one millisecond, and then neither is the newer one.
    await test.db.database.query(
      "update repository_grants set created_at = created_at - interval '1 second' where id = $1",
      [grant.id],
    )
    const second = server.addRepository({
      ...{ id: ++repositoryIds, fullName: 'hub/moved', gitDir, installations: [String(repositoryIds)] },
    })
    const to = { repositoryId: String(second.id), fullName: 'hub/moved' }
    const next = await grantRepository(test.db.database, tenant, account(String(second.id)), to)
    await replaceGrant(test.db.database, tenant, grant.id, next.id)
    const { body } = await api.get<GrantList>('/v1/repository-grants?limit=1')
    expect(body).toMatchObject({
      grants: [{ id: next.id, status: 'active', accountLogin: expect.any(String) }],
      hasMore: true,
    })
    const rest = await api.get<GrantList>(`/v1/repository-grants?limit=1&cursor=${body.nextCursor}`)
    expect(rest.body).toMatchObject({ grants: [{ id: grant.id, status: 'replaced' }], hasMore: false })
    const active = await api.get<{ grant: RepositoryGrant }>(`/v1/repository-grants/${grant.id}/active`)
    expect(active.body.grant).toMatchObject({ id: next.id, repositoryId: String(second.id) })
    await revokeGrant(context(), tenant, next.id)
    expect((await api.get(`/v1/repository-grants/${grant.id}/active`)).status).toBe(404)
    expect((await everything(api, 10)).length).toBe(0)
  })

  it('are found without first reading the repositories', async () => {
    const { api } = await localTenant()
    const { body } = await api.get<GrantList>('/v1/repository-grants')
    expect(body.grants.map(grant => grant.fullName)).toContain('sample/greeter')
  })

  it('of whole accounts are listed though the account has more than one page of the host', async () => {
    const { tenant, api } = await test.newTenant()
    const installation = String(++repositoryIds)
    for (let at = 0; at < 130; at++) {
      const id = ++repositoryIds
      server.addRepository({ id, fullName: `hub/whole-${id}`, gitDir, installations: [installation] })
    }
    await connectAccount(context(), tenant, account(installation), true)
    const { body } = await api.get<GrantList>('/v1/repository-grants?limit=100')
    const rest = await api.get<GrantList>(`/v1/repository-grants?limit=100&cursor=${body.nextCursor}`)
    expect(body.grants.length + rest.body.grants.length).toBe(130)
    expect([body.missing, rest.body.hasMore]).toEqual([undefined, false])
  })

  it('that a late host would add are said to be missing', async () => {
    const { tenant, api, served } = await hubTenant()
    await connectAccount(context(), tenant, account(String(served.id)), true)
    server.fail({ when: /^GET \/installation\/repositories/, answer: { status: 502 } })
    try {
      const { body } = await api.get<GrantList>('/v1/repository-grants')
      expect(body.missing).toEqual([
        { provider: 'github', accountLogin: `login-${served.id}`, reason: 'unavailable', retried: false },
      ])
    } finally {
      server.mend()
    }
  })

  it('of others are not found, and an invalid id is refused', async () => {
    const { grant } = await hubTenant()
    const answer = await test.api.get(`/v1/repository-grants/${grant.id}/active`)
    expect([answer.status, answer.body.error]).toEqual([404, 'cloud_repository_grant_not_found'])
    const malformed = await test.api.get('/v1/repository-grants/x/active')
    expect([malformed.status, malformed.body.error]).toEqual([400, 'invalid_input'])
  })
})

describe('a data directory with many repositories', () => {
  it('is listed whole to many readers at once', async () => {
    await using many = await startTestService({ variables: { BERTH_ROLES: 'api' } })
    const directory = join(many.dataDir, 'repositories')
    const first = await sampleRepository(directory, 'many/r100')
    const names = ['many/r100']
    for (let at = 101; at <= 250; at++) {
      names.push(`many/r${at}`)
      await cp(first, join(directory, `many/r${at}.git`), { recursive: true })
    }
    await grantLocal({ db: many.db.database, clock: systemClock }, many.tenant)
    const read = await Promise.all(Array.from({ length: 12 }, () => everything(many.api, 100)))
    for (const list of read) {
      expect(list.map(one => one.fullName)).toEqual(names)
      expect(new Set(list.map(one => one.defaultBranch))).toEqual(new Set(['main']))
    }
  })
})

describe('a session on a repository', () => {
  it('is pinned to the commit at the tip of its branch, and shows it', async () => {
    const { api } = await localTenant()
    const [repository] = await everything(api, 50)
    const { grantId = '', repositoryId = '' } = repository ?? {}
    const tip = await tipOf(join(root, `${repository?.fullName}.git`), 'main')
    const { status, body } = await create(api, { grantId, repositoryId })
    expect(status).toBe(201)
    const source = {
      kind: 'local',
      grantId,
      repositoryId,
      label: repository?.fullName,
      private: true,
      baseBranch: 'main',
      baseOid: tip,
    }
    expect(body.session.source).toEqual(source)
    await commitTo(join(root, `${repository?.fullName}.git`), 'main', tip, { moved: 'on' })
    expect((await api.session(body.session.id)).source).toEqual(source)
    const named = await create(api, { grantId, repositoryId, baseBranch: 'spanish', label: 'Mine', kind: 'local' })
    expect(named.body.session.source).toMatchObject({ baseBranch: 'spanish', label: 'Mine' })
    const patched = await api.call('PATCH', `/v1/sessions/${body.session.id}`, { source: { grantId, repositoryId } })
    expect([patched.status, patched.body.error]).toEqual([400, 'invalid_request'])
  })

  it('does not begin at a branch called HEAD, or at a detached HEAD, and says why', async () => {
    const { api } = await localTenant()
    const odd = await sampleRepository(root, 'odd/head')
    const tip = await tipOf(odd, 'main')
    await runGit(['update-ref', 'refs/heads/HEAD', tip], { gitDir: odd })
    await runGit(['update-ref', '--no-deref', 'HEAD', tip], { gitDir: odd })
    const { grantId, repositoryId } = (await everything(api, 50)).find(one => one.fullName === 'odd/head') as Repository
    const detached = await create(api, { grantId, repositoryId })
    expect([detached.status, detached.body.error]).toEqual([400, 'cloud_repository_branch_not_found'])
    expect(detached.text).toContain('its HEAD is detached')
    const named = await create(api, { grantId, repositoryId, baseBranch: 'HEAD' })
    expect([named.status, named.body.error]).toEqual([400, 'invalid_request'])
    expect(named.text).toContain('by which git means a commit')
    expect((await create(api, { grantId, repositoryId, baseBranch: 'main' })).status).toBe(201)
  })

  it('is created again by the same body while its host is away, and not by another', async () => {
    const { tenant, api, source, grant } = await hubTenant()
    const id = randomUUID()
    expect((await create(api, source, id)).status).toBe(201)
    server.fail({ when: /repositories/, answer: { status: 500 } })
    try {
      expect((await create(api, source, id)).status).toBe(200)
      expect((await create(api, { ...source, baseBranch: 'main' }, id)).body.error).toBe('cloud_session_conflict')
      await revokeGrant(context(), tenant, grant.id)
      expect((await create(api, source, id)).status).toBe(200)
    } finally {
      server.mend()
    }
  })

  it('requires its branch by its exact name', async () => {
    const { api } = await localTenant()
    const [repository] = await everything(api, 1)
    const { grantId, repositoryId } = repository as Repository
    const revisions = ['main~1', 'main@{0}', 'main^{tree}', '@', 'refs/heads/main', '../main']
    for (const baseBranch of ['nowhere', 'MAIN', 'main ', 'a\u0007', '-x', '--upload-pack=x', ...revisions]) {
      const { status, body } = await create(api, { grantId, repositoryId, baseBranch })
      expect([baseBranch, status, body.error]).toEqual([baseBranch, 400, 'cloud_repository_branch_not_found'])
    }
  })

  it.each(['', 'a\nb', 'a\rb', 'a'.repeat(256)])('refuses an invalid branch: %j', async baseBranch => {
    const answer = await create(test.api, { grantId: randomUUID(), repositoryId: '1', baseBranch })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
  })

  it('requires an active grant of its own for that repository and kind', async () => {
    const { tenant, api, source, grant } = await hubTenant()
    const stranger = await hubTenant()
    const required = [403, 'cloud_repository_grant_required']
    const outcomeOf = async (by: Api, body: object) => {
      const answer = await create(by, body)
      return [answer.status, answer.body.error]
    }
    expect(await outcomeOf(stranger.api, source)).toEqual(required)
    expect(await outcomeOf(api, { ...source, repositoryId: '999' })).toEqual(required)
    expect(await outcomeOf(api, { ...source, kind: 'local' })).toEqual(required)
    expect(await outcomeOf(api, { ...source, grantId: randomUUID() })).toEqual(required)
    await revokeGrant(context(), tenant, grant.id)
    expect(await outcomeOf(api, source)).toEqual(required)
  })

  it.each<[string, (served: Awaited<ReturnType<typeof hubTenant>>) => void, number, string]>([
    ['is gone', ({ served }) => server.removeRepository(served.id), 403, 'cloud_repository_unavailable'],
    [
      'is out of reach',
      ({ served }) => served.installations.add('1').delete(String(served.id)),
      403,
      'cloud_repository_unavailable',
    ],
    [
      'is refused',
      () => server.fail({ when: /^GET \/repositories/, answer: { status: 403 } }),
      403,
      'cloud_repository_permission_denied',
    ],
    [
      'is not opened by our credential',
      () => server.fail({ when: /access_tokens/, answer: { status: 401 } }),
      403,
      'cloud_github_connection_required',
    ],
    [
      'is limited',
      () => server.fail({ when: /^GET \/repositories/, answer: { status: 429, headers: { 'retry-after': '9' } } }),
      503,
      'cloud_workspace_unavailable',
    ],
    [
      'is away',
      () => server.fail({ when: /^GET \/repositories/, answer: { status: 502 } }),
      503,
      'cloud_workspace_unavailable',
    ],
  ])('names the reason if the repository %s', async (_, spoil, status, error) => {
    const made = await hubTenant()
    spoil(made)
    try {
      const answer = await create(made.api, made.source)
      expect([answer.status, answer.body.error]).toEqual([status, error])
      if (status === 503) expect(answer.headers.get('retry-after')).toMatch(/^(2|9)$/)
    } finally {
      server.mend()
    }
  })
})

describe('a pull request of a local repository', () => {
  it('can be read only with a grant for its repository', async () => {
    const { api } = await localTenant()
    const [repository] = await everything(api, 1)
    const path = join(root, `${repository?.fullName}.git`)
    await commitTo(path, 'feature', await tipOf(path, 'main'), { feature: 'yes' })
    expect(repository?.htmlUrl).toBe(`${test.url}/sessions?repository=local:${repository?.repositoryId}`)
    const at = `/v1/local-repositories/${repository?.repositoryId}/pulls`
    expect((await api.get(`${at}/1`)).status).toBe(404)
    await test.db.database.query(
      `insert into local_pulls (repository_id, number, title, body, draft, state, head_branch, base_branch, head_oid, created_at)
       values ($1, 1, 'Add it', 'Because', false, 'open', 'feature', 'main', '', now())`,
      [repository?.repositoryId],
    )
    const { status, body } = await api.get<{ pull: object }>(`${at}/1`)
    expect(status).toBe(200)
    expect(body.pull).toMatchObject({
      number: 1,
      title: 'Add it',
      state: 'open',
      mergeable: 'yes',
      url: `${test.url}/pulls/${repository?.repositoryId}/1`,
    })
    expect((await test.api.get(`${at}/1`)).body.error).toBe('cloud_repository_grant_not_found')
    expect((await api.get(`${at}/x`)).body.error).toBe('invalid_path_parameter')
  })

  it('is reviewed once by whoever sees it, in threads', async () => {
    const { api } = await localTenant()
    const [repository] = await everything(api, 1)
    const repositoryId = repository?.repositoryId ?? ''
    const path = join(root, `${repository?.fullName}.git`)
    const head = await commitTo(path, 'reviewed', await tipOf(path, 'main'), { reviewed: 'yes' })
    const local = new LocalHost(test.db.database, systemClock, root, () => test.url)
    const pull = { title: 'Review it', body: '', head: 'reviewed', base: 'main', draft: false }
    const { number } = await local.openPull({ account: 'local', repositoryId }, pull)
    const at = `/v1/local-repositories/${repositoryId}/pulls/${number}`
    const [first, second] = [randomUUID(), randomUUID()]
    const review = { state: 'changes_requested', body: 'No.', comments: [{ path: 'reviewed', line: 1, body: 'Why?' }] }
    const written = await api.put<{ review: LocalReview }>(`${at}/reviews/${first}`, review)
    expect([written.status, written.body.review.headOid]).toEqual([201, head])
    const threadId = written.body.review.comments[0]?.threadId
    expect((await api.put(`${at}/reviews/${first}`, review)).status).toBe(200)
    const changed = { ...review, body: 'Yes.' }
    expect(outcome(await api.put(`${at}/reviews/${first}`, changed))).toBe('409 local_review_conflict')
    const answer = { state: 'commented', comments: [{ path: 'elsewhere', threadId, body: 'Because.' }] }
    expect((await api.put(`${at}/reviews/${second}`, answer)).status).toBe(201)
    expect((await api.put(`${at}/reviews/${second}`, answer)).status).toBe(200)
    const { body } = await api.get<{ pull: LocalPull }>(at)
    expect(body.pull.reviews).toMatchObject([
      { id: first, by: 'app_installation', state: 'changes_requested', comments: [{ path: 'reviewed', line: 1 }] },
      { id: second, comments: [{ path: 'reviewed', threadId, body: 'Because.' }] },
    ])
    for (const [why, refused] of [
      ['says nothing', { state: 'commented', body: ' ' }],
      ['names no thread', { state: 'commented', comments: [{ path: 'reviewed', threadId: 'none', body: 'x' }] }],
      ['has a line 0', { state: 'commented', comments: [{ path: 'reviewed', line: 0, body: 'x' }] }],
    ] as const) {
      expect([why, outcome(await api.put(`${at}/reviews/${randomUUID()}`, refused))]).toEqual([
        why,
        '400 invalid_request',
      ])
    }
    const theirs = await test.api.put(`${at}/reviews/${randomUUID()}`, review)
    expect(outcome(theirs)).toBe('404 cloud_repository_grant_not_found')
    await runGit(['update-ref', '-d', 'refs/heads/reviewed'], { gitDir: path })
    expect(outcome(await api.put(`${at}/reviews/${randomUUID()}`, review))).toBe('400 invalid_request')
  })
})
