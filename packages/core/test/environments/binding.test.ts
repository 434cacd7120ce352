import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let api: Api
let environments: Environments
let person: Api
beforeAll(async () => {
  accounts = await startAccounts()
  api = accounts.test.api
  environments = new Environments(api)
  person = (await accounts.person({})).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const create = (caller: Api, body: object, id: string = randomUUID()) =>
  caller.put<{ session: Session }>(`/v1/sessions/${id}`, body)
const patch = (caller: Api, id: string, body: object) =>
  caller.call<{ session: Session }>('PATCH', `/v1/sessions/${id}`, body)

describe('a session', () => {
  it('is bound to an environment and follows its name, with the revision that was applied last', async () => {
    const made = await environments.make()
    const { session } = (await create(api, { environment: { id: made.id } })).body
    expect(session.environment).toEqual({ id: made.id, name: made.name, revision: null })
    await environments.put(made.id, { name: `${made.name}!` }, 1)
    expect((await api.session(session.id)).environment).toEqual({ id: made.id, name: `${made.name}!`, revision: null })
    const page = await api.get<{ sessions: Session[] }>('/v1/sessions')
    expect(page.body.sessions.find(({ id }) => id === session.id)?.environment?.id).toBe(made.id)
  })

  it('can change its environment and let go of it, and keeps an archived one', async () => {
    const [first, second] = [await environments.make(), await environments.make()]
    const { id } = (await create(api, { environment: { id: first.id } })).body.session
    await environments.archive(first.id, 1)
    expect((await patch(api, id, { title: 'still bound' })).body.session.environment?.id).toBe(first.id)
    expect((await patch(api, id, { environment: { id: second.id } })).body.session.environment?.id).toBe(second.id)
    expect(outcome(await patch(api, id, { environment: { id: first.id } }))).toBe('409 environment_conflict')
    expect(outcome(await patch(api, id, { environment: { id: randomUUID() } }))).toBe('404 environment_not_found')
    expect((await patch(api, id, { environment: null })).body.session.environment).toBeNull()
    expect(outcome(await create(api, { environment: { id: first.id } }))).toBe('409 environment_conflict')
  })

  it("inherits the default if it is a person's, unless they ask for none", async () => {
    const made = await environments.make()
    await environments.choose(made.id)
    const [absent, none] = [randomUUID(), randomUUID()]
    expect((await create(person, {}, absent)).body.session.environment?.id).toBe(made.id)
    expect((await create(person, { environment: null }, none)).body.session.environment).toBeNull()
    expect((await create(api, {})).body.session.environment).toBeNull()
    await environments.choose(null)
    // The default of that time stays, and null and absence are two requests.
    expect((await create(person, {}, absent)).body.session.environment?.id).toBe(made.id)
    expect(outcome(await create(person, { environment: null }, absent))).toBe('409 cloud_session_conflict')
    expect(outcome(await create(person, {}, none))).toBe('409 cloud_session_conflict')
  })

  it.each([
    [['environments:use'], 201],
    [['environments:manage'], 201],
    [[], 403],
  ] as const)('of an installation with %j answers %i to one that it names', async (held, status) => {
    const { organizationId, appSlug } = accounts.test.tenant
    const capabilities = ['svc.cloud.access', 'svc.cloud.sessions:create', ...held] as const
    const { apiKey } = await createInstallation(accounts.test.db.database, organizationId, appSlug, capabilities)
    const caller = new Api(accounts.test.url, apiKey)
    const made = await environments.make()
    const answer = await create(caller, { environment: { id: made.id } })
    expect(answer.status).toBe(status)
    if (status === 403) expect(answer.body).toEqual({ error: 'environment_forbidden' })
    const bare = await create(caller, { environment: null })
    expect(bare.status).toBe(201)
    const { id } = bare.body.session
    const patched = outcome(await patch(caller, id, { environment: { id: made.id } }))
    expect(patched).toBe(status === 403 ? '403 environment_forbidden' : '200')
    expect((await patch(caller, id, { environment: null })).body.session.environment).toBeNull()
  })

  it("is not bound to another organization's environment", async () => {
    const made = await environments.make()
    const { api: foreign } = await accounts.test.newTenant()
    expect(outcome(await create(foreign, { environment: { id: made.id } }))).toBe('404 environment_not_found')
  })
})
