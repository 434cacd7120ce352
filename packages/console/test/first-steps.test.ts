import { readdir, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ModelCheck, Repository, RepositoryPage } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
/** Requests that the providers got: method, path and body. */
const requests: string[] = []

/** Starts a provider of models, and returns its entry in the configuration. */
async function provider(id: string, answer: RequestListener, more: object = {}) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  stack.defer(() => void server.close().closeAllConnections())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { id, kind: 'openai-compatible', baseUrl, apiKey: `sk-${id}-secret-0123456789`, ...more }
}

const answering =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

beforeAll(async () => {
  const listing = await provider('listing', answering(200, { data: [{ id: 'a' }, { id: 'b' }] }))
  const refusing = await provider(
    'refusing',
    answering(401, { error: { message: 'Incorrect API key provided: sk-refusing-secret-0123456789' } }),
  )
  const choice = { index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }
  const unlisted: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    if (request.method === 'GET') return answering(404, {})(request, response)
    return answering(200, { id: 'c', object: 'chat.completion', created: 0, model: 'm', choices: [choice] })(
      request,
      response,
    )
  }
  const wordy = await provider('wordy', unlisted, { models: [{ id: 'm' }] })
  const silent = await provider('silent', answering(404, {}))
  const page = await provider('page', (_, response) => void response.writeHead(200).end('<html>'))
  const gone = { ...listing, id: 'gone', baseUrl: 'http://127.0.0.1:9/v1' }
  accounts = stack.use(
    await startAccounts({ config: { providers: [listing, refusing, wordy, silent, page, gone], models: {} } }),
  )
  api = (await accounts.person({ role: 'admin' })).api
})
afterAll(() => stack.disposeAsync())

describe('checking the providers of models', () => {
  it('asks each for its list, or one of its models for a word, and says what is wrong', async () => {
    const { status, body } = await api.call<ModelCheck>('POST', '/cloud/models/check')
    expect([status, body.providers.map(({ id, outcome, models }) => [id, outcome, models])]).toEqual([
      200,
      [
        ['listing', 'answered', 2],
        ['refusing', 'upstream_credential_refused', null],
        ['wordy', 'answered', null],
        ['silent', 'unlisted', null],
        ['page', 'upstream_invalid_response', null],
        ['gone', 'upstream_unreachable', null],
      ],
    ])
    expect(requests).toEqual(['GET /v1/models', 'POST /v1/chat/completions'])
    expect(JSON.stringify(body)).not.toMatch(/secret-0123456789|127\.0\.0\.1/)
  })

  it('asks once for all who ask meanwhile, and none whose models an organization may not use', async () => {
    const { database } = accounts.test.db
    const { organizationId } = await createTenant(database)
    const other = (await accounts.person({ organizationId, role: 'admin' })).api
    const before = requests.length
    const ids = async (by: Api) =>
      (await by.call<ModelCheck>('POST', '/cloud/models/check')).body.providers.map(({ id }) => id)
    const all = await ids(api)
    expect([await ids(other), requests.length]).toEqual([all, before])
    const text = "insert into organization_limits (organization_id, models) values ($1, '{wordy/m,page/a}')"
    await database.query(text, [organizationId])
    expect([await ids(other), requests.length]).toEqual([['wordy', 'page'], before])
  })

  it('is for administrators', async () => {
    const member = await accounts.person({ role: 'member' })
    expect(outcome(await member.api.call('POST', '/cloud/models/check'))).toMatch(/^403 /)
  })
})

describe('the sample repository', () => {
  const provide = (by: Api) => by.put<{ repository: Repository }>('/cloud/sample-repository', undefined)
  const listed = async (by: Api) =>
    (await by.get<RepositoryPage>('/cloud/repositories')).body.repositories.map(({ fullName }) => fullName)

  it('is made once, however often it is asked for at once', async () => {
    const answers = await Promise.all([provide(api), provide(api), provide(api)])
    const { body } = await provide(api)
    expect(answers.map(answer => [answer.status, answer.body])).toEqual(Array(3).fill([200, body]))
    expect(body.repository).toMatchObject({ provider: 'local', defaultBranch: 'main' })
    expect(await listed(api)).toEqual([body.repository.fullName])
  })

  it('is of one organization alone', async () => {
    const { organizationId } = await createTenant(accounts.test.db.database)
    const other = (await accounts.person({ organizationId, role: 'member' })).api
    const { body } = await provide(other)
    expect(await listed(other)).toEqual([body.repository.fullName])
    expect(await listed(api)).not.toContain(body.repository.fullName)
  })

  it('is for people of organizations with product access alone', async () => {
    const { organizationId } = await createTenant(accounts.test.db.database)
    const { api: member } = await accounts.person({ organizationId, role: 'member' })
    await accounts.test.db.database.query('update organizations set cloud_access = false where id = $1', [
      organizationId,
    ])
    expect(outcome(await provide(member))).toMatch(/^403 /)
  })

  it.each(['host_connections', 'repository_grants'])(
    'once removed (%s) comes again by an administrator alone',
    async table => {
      const { database } = accounts.test.db
      const { organizationId } = await createTenant(database)
      const admin = (await accounts.person({ organizationId, role: 'admin' })).api
      const member = (await accounts.person({ organizationId, role: 'member' })).api
      await provide(member)
      await database.query(`update ${table} set revoked_at = now() where organization_id = $1`, [organizationId])
      const ownerOf = () => readdir(join(accounts.test.dataDir, 'repositories')).catch((): string[] => [])
      const before = await ownerOf()
      const sample = `sample-${organizationId.replaceAll('-', '').slice(0, 12)}`
      await rm(join(accounts.test.dataDir, 'repositories', sample), { recursive: true })
      const refused = await provide(member)
      expect([before.includes(sample), (await ownerOf()).includes(sample)]).toEqual([true, false])
      expect([outcome(refused), await listed(admin)]).toEqual(['403 cloud_repository_grant_required', []])
      expect(JSON.stringify(refused.body)).toContain('An administrator of the organization can make it again')
      // It ends in this organization alone.
      expect((await provide(api)).status).toBe(200)
      const { body } = await provide(admin)
      expect([(await provide(member)).body, await listed(member)]).toEqual([body, [body.repository.fullName]])
    },
  )
})
