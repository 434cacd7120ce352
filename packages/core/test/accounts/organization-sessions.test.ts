import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { LocalPull, Repository, RunStatus, Session } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { addGrant } from '@berth/server/admin/grants.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import { fileAt, sampleRepository } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOwnInstallation, provideOwnInstallation } from '../../src/accounts/installations/own-installation.ts'

let accounts: Accounts
let gitDir: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } })
  gitDir = await sampleRepository(join(accounts.test.dataDir, 'repositories'))
})
afterAll(() => accounts[Symbol.asyncDispose]())

const database = () => accounts.test.db.database
const organizationId = () => accounts.test.tenant.organizationId
const change = (text: string, ...values: readonly unknown[]) => database().query(text, values)
const variables = () => ({ DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir })

/** An organization that the operator has connected to the repositories of this machine. */
async function connected(id: string) {
  await addGrant(variables(), { organizationId: id, host: 'local', repositories: [] })
  const installationId = await findOwnInstallation(database(), id)
  if (installationId === null) throw new Error('no own installation')
  return installationId
}

const repositories = (api: Api) => api.get<{ repositories: Repository[] }>('/cloud/repositories')

async function sourceOf(api: Api) {
  const [repository] = (await repositories(api)).body.repositories
  if (repository === undefined) throw new Error('no repository')
  return { grantId: repository.grantId, repositoryId: repository.repositoryId }
}

const create = (api: Api, body: object, id: string = randomUUID()) =>
  api.put<{ session: Session; error?: string }>(`/cloud/sessions/${id}`, body)

describe("the service's own installation", () => {
  it('is made once, however many use it first at the same moment', async () => {
    const { organizationId: id } = await createTenant(database())
    const { api } = await accounts.person({ organizationId: id })
    expect(await findOwnInstallation(database(), id)).toBeNull()
    const answers = await Promise.all(Array.from({ length: 10 }, () => repositories(api)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const provided = await Promise.all(
      Array.from({ length: 10 }, () => provideOwnInstallation({ db: database(), clock: systemClock }, id)),
    )
    expect(new Set(provided.map(made => made.id)).size).toBe(1)
    const { rows } = await change("select app_slug from installations where organization_id = $1 and kind = 'own'", id)
    expect(rows).toEqual([{ app_slug: 'svc-cloud' }])
  })

  it('is neither listed, changed nor revoked, and has no keys, exchange or webhooks', async () => {
    const own = await connected(organizationId())
    const { api } = await accounts.person({ role: 'admin' })
    const at = `/api/organizations/${organizationId()}`
    expect((await api.get(`${at}/installations`)).text).not.toContain(own)
    const answers = await Promise.all([
      api.call('PATCH', `/api/installations/${own}`, { capabilities: ['svc.cloud.access'] }),
      api.call('DELETE', `/api/installations/${own}`),
      api.call('POST', `${at}/integrations/${own}/keys`, { kind: 'cloud' }),
    ])
    expect(answers.map(outcome)).toEqual([
      '404 installation_not_found',
      '404 installation_not_found',
      '404 integration_not_found',
    ])
    expect(outcome(await api.call('POST', '/api/apps/svc-cloud/keys', { publicKeyPem: 'x'.repeat(60) }))).toBe(
      '404 app_not_found',
    )
  })
})

describe("the organization's repositories", () => {
  it('are found by a part of their names, with their branches', async () => {
    await connected(organizationId())
    const { api } = await accounts.person({})
    const named = async (q: string) =>
      (await api.get<{ repositories: Repository[] }>(`/cloud/repositories?q=${q}`)).body.repositories.map(
        ({ fullName }) => fullName,
      )
    expect(await named('GREET')).toEqual(['sample/greeter'])
    expect(await named('nothing-like-this')).toEqual([])
    const { grantId, repositoryId } = await sourceOf(api)
    const branches = (q: string, { id = repositoryId, at = api } = {}) =>
      at.get<{ branches: string[] }>(`/cloud/repositories/${grantId}/${id}/branches?q=${q}`)
    expect((await branches('')).body).toMatchObject({ branches: expect.arrayContaining(['main']), hasMore: false })
    expect((await branches('ma')).body.branches).toEqual(['main'])
    expect((await branches('zz')).body.branches).toEqual([])
    expect(outcome(await branches('', { id: '999' }))).toBe('404 cloud_repository_grant_not_found')
    const stranger = await accounts.person({ organizationId: (await createTenant(database())).organizationId })
    expect(outcome(await branches('', { at: stranger.api }))).toBe('404 cloud_repository_grant_not_found')
    expect(outcome(await branches('', { at: accounts.test.api }))).toBe('401 invalid_or_expired_credential')
  })
})

describe("a Session on the organization's repository", () => {
  it('goes all the way: the agent works, the person reviews, publishes and merges', async () => {
    const own = await connected(organizationId())
    const { api, who } = await accounts.person({})
    const colleague = await accounts.person({})
    const source = await sourceOf(api)
    const id = randomUUID()
    const turn = { id: randomUUID(), message: "printf 'hello\\n' > /workspace/project/hello.txt" }
    const body = { runtime: 'shell', source, initialTurn: turn }
    const made = await create(api, body, id)
    expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/sessions/${id}`])
    const ours = { createdBy: { kind: 'app_installation', id: own }, initiatedBy: { kind: 'person', id: who.personId } }
    expect(made.body.session).toMatchObject({ id, ...ours, source: { ...source, kind: 'local', baseBranch: 'main' } })
    expect(await create(api, body, id)).toMatchObject({ status: 200, body: { session: { id, ...ours } } })
    expect(outcome(await create(api, { ...body, title: 'other' }, id))).toBe('409 cloud_session_conflict')

    const at = await Delivering.of({ ...accounts.test, api }, made.body.session)
    await at.shell("printf 'more\\n' >> hello.txt")
    const turns = await api.get<{ turns: object[] }>(`/v1/sessions/${id}/turns`)
    const author = { createdBy: { kind: 'person', id: who.personId } }
    expect(turns.body.turns).toMatchObject([author, author])
    const review = await at.review()
    expect(review.files.map(({ path }) => path)).toEqual(['hello.txt'])
    const publication = await at.publish()
    expect(publication).toMatchObject({ status: 'succeeded', result: { pullRequest: { number: 1 } } })

    const pull = `/cloud/local-repositories/${source.repositoryId}/pulls/1`
    const read = await api.get<{ pull: LocalPull }>(pull)
    expect(read.body.pull).toMatchObject({ state: 'open', mergeable: 'yes', headOid: publication.result?.commitSha })
    expect((await at.merge(publication.id)).status).toBe('succeeded')
    expect(await fileAt(gitDir, 'main', 'hello.txt')).toBe('hello\nmore')

    // The Session is the organization's: colleagues see it and its pull request, an integration and others do not.
    expect(await colleague.api.session(id)).toMatchObject(ours)
    expect((await colleague.api.get<{ pull: LocalPull }>(pull)).body.pull.state).toBe('merged')
    expect((await accounts.test.api.get(`/v1/sessions/${id}`)).status).toBe(404)
    const stranger = await accounts.person({ organizationId: (await createTenant(database())).organizationId })
    expect((await stranger.api.get(`/v1/sessions/${id}`)).status).toBe(404)
    for (const prefix of ['/v1', '/cloud']) {
      const there = `${prefix}/local-repositories/${source.repositoryId}/pulls/1`
      expect(outcome(await stranger.api.get(there))).toBe('404 cloud_repository_grant_not_found')
      expect((await colleague.api.get(there)).status).toBe(200)
    }
    expect(outcome(await create(stranger.api, { source }))).toBe('403 cloud_repository_grant_required')
  })

  it('is readable as a pull request by the people who saw it published, after the grant has ended', async () => {
    const { organizationId: id } = await createTenant(database())
    const own = await connected(id)
    const { api } = await accounts.person({ organizationId: id })
    const { repositoryId } = await sourceOf(api)
    await change('update host_connections set revoked_at = now() where installation_id = $1', own)
    const pull = `/v1/local-repositories/${repositoryId}/pulls/1`
    expect(outcome(await api.get(pull))).toBe('404 cloud_repository_grant_not_found')
    const first = await accounts.person({})
    await change(
      'update host_connections set revoked_at = now() where installation_id = $1',
      await connected(organizationId()),
    )
    expect((await first.api.get(pull)).status).toBe(200)
    expect((await first.api.get(pull.replace('/1', '/2').replace('pulls/2', 'pulls/99'))).status).toBe(404)
  })

  it('without a source is the person’s own, as at /v1', async () => {
    const { api, who } = await accounts.person({})
    const made = await create(api, { title: 'Mine' })
    expect(made.body.session.createdBy).toEqual({ kind: 'person', id: who.personId })
    expect(made.body.session).not.toHaveProperty('initiatedBy')
    expect(outcome(await api.put(`/v1/sessions/${randomUUID()}`, { source: await fakeSource() }))).toBe(
      '403 installation_principal_required',
    )
  })

  const fakeSource = async () => ({ grantId: randomUUID(), repositoryId: '1' })

  it('is not for an organization without product access, and not at an unknown path', async () => {
    const { organizationId: id } = await createTenant(database())
    const { api } = await accounts.person({ organizationId: id })
    expect(outcome(await api.get('/cloud/nothing'))).toBe('404 unknown_endpoint')
    await change('update organizations set cloud_access = false where id = $1', id)
    expect(outcome(await repositories(api))).toBe('403 cloud_access_denied')
    expect(outcome(await create(api, { source: await fakeSource() }))).toBe('403 cloud_access_denied')
    const nobody = await fetch(`${accounts.test.url}/cloud/nothing`)
    expect([nobody.status, await nobody.json()]).toEqual([401, { error: 'sign_in_required' }])
  })

  it('is for people alone: the credential of an installation is refused, whatever it holds', async () => {
    await connected(organizationId())
    const { api } = await accounts.person({})
    const source = await sourceOf(api)
    const id = randomUUID()
    const answers = await Promise.all([
      repositories(accounts.test.api),
      create(accounts.test.api, { source }, id),
      create(accounts.test.api, {}, id),
      accounts.test.api.get(`/cloud/local-repositories/${source.repositoryId}/pulls/1`),
    ])
    expect(answers.map(outcome)).toEqual(Array(4).fill('401 invalid_or_expired_credential'))
    expect((await api.get(`/v1/sessions/${id}`)).status).toBe(404)
  })

  it("takes from the membership's bucket, as /v1 does", async () => {
    const { organizationId: id } = await createTenant(database())
    const { api } = await accounts.person({ organizationId: id })
    await change('update organizations set rate_burst = 2, rate_per_minute = 1 where id = $1', id)
    const answers = [await api.get('/v1/sessions'), await repositories(api), await repositories(api)]
    expect(answers.map(outcome)).toEqual(['200', '200', '429 cloud_rate_limit_exceeded'])
    expect(answers[1]?.headers.get('ratelimit-policy')).toContain('"svc-cloud"')
  })
})

describe('revocation', () => {
  async function begun() {
    const { organizationId: id } = await createTenant(database())
    await connected(id)
    const { api, who } = await accounts.person({ organizationId: id })
    const turn = { id: randomUUID(), message: 'sleep 600' }
    const { body } = await create(api, { runtime: 'shell', source: await sourceOf(api), initialTurn: turn })
    const { id: sessionId, activeRunId: runId = '' } = body.session
    const run = async () =>
      (
        await database().query<{ status: RunStatus; error_code: string | null }>(
          'select status, error_code from runs where id = $1',
          [runId],
        )
      ).rows[0]
    await until('a running run', async () => (await run())?.status === 'running')
    return { id, api, who, sessionId, run }
  }

  it('of a membership leaves a running Run to the organization, and ends the credential', async () => {
    const { id, api, who, sessionId, run } = await begun()
    const colleague = await accounts.person({ organizationId: id })
    await change('update memberships set revoked_at = now() where id = $1', who.membershipId)
    expect(outcome(await create(api, {}))).toBe('401 invalid_or_expired_credential')
    expect((await run())?.status).toBe('running')
    expect((await colleague.api.session(sessionId)).phase).toBe('running')
    const { activeRunId } = await colleague.api.session(sessionId)
    expect((await colleague.api.call('POST', `/v1/sessions/${sessionId}/runs/${activeRunId}/cancel`)).status).toBe(200)
    await until('a cancelled run', async () => (await run())?.status === 'cancelled')
  })

  it('of an organization ends its Runs', async () => {
    const { id, api, run } = await begun()
    await change('update organizations set suspended_at = now() where id = $1', id)
    expect(outcome(await repositories(api))).toBe('401 invalid_or_expired_credential')
    await until('a failed run', async () => (await run())?.status === 'failed')
    expect(await run()).toMatchObject({ error_code: 'authority_revoked' })
  })
})
