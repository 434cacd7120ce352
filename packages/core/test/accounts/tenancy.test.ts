import { randomUUID } from 'node:crypto'
import { type OperationId, operationIds, operationOf } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Answer, Api } from '@berth/testing/api/api.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { provideOwnInstallation } from '../../src/accounts/installations/own-installation.ts'

/** An organization that has one of everything, and its administrator. */
interface Full {
  readonly api: Api
  readonly parameters: Readonly<Record<string, string>>
}

let accounts: Accounts
let theirs: Full
let own: Full
beforeAll(async () => {
  const network = new ScriptedNetwork()
  network.names.set('hooks.example', ['93.184.216.34'])
  accounts = await startAccounts({ network })
  theirs = await fill()
  own = await fill()
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function fill(): Promise<Full> {
  const { tenant } = await accounts.test.newTenant()
  const { organizationId, appSlug } = tenant
  const { api, who } = await accounts.person({ organizationId, role: 'admin' })
  await accounts.person({ organizationId, role: 'admin' })
  const of = (rest: string) => `/api/organizations/${organizationId}/${rest}`
  const made = async (path: string, body: object) => {
    const answer = await api.call('POST', path, body)
    expect(answer.status).toBe(201)
    return answer.body
  }
  const { kid } = await made(`/api/apps/${appSlug}/keys`, { publicKeyPem: (await makeAppKey()).publicKeyPem })
  const draft = { name: 'Nightly', product: appSlug, capabilities: ['svc.cloud.access', 'svc.cloud.sessions:create'] }
  const { integration } = await made(of('integrations'), draft)
  const { id: integrationId, installationId } = Object(integration)
  const { key } = await made(of(`integrations/${integrationId}/keys`), { kind: 'cloud' })
  const { invitation } = await made(of('invitations'), { email: `${organizationId}@example.test` })
  const webhooks = `/api/apps/${appSlug}/installations/${installationId}/webhooks`
  const { endpoint } = await made(webhooks, { url: 'https://hooks.example/', families: ['run'] })
  const { body: pinged } = await api.call('POST', `${webhooks}/${Object(endpoint).id}/ping`)
  const account = { host: 'local', provider: 'local', account: organizationId, accountLogin: 'local' } as const
  const repository = { repositoryId: '7', fullName: 'sample/greeter' }
  await grantRepository(accounts.test.db.database, tenant, account, repository)
  const { connection } = await made(of('connections'), { host: 'local', account: organizationId })
  const triggerId = randomUUID()
  const trigger = { name: 'Nightly', message: 'Look', hook: { scheme: 'svc' } }
  expect((await api.put(`/v1/triggers/${triggerId}`, { ...trigger, installationId })).status).toBe(201)
  const parameters = {
    organizationId,
    appSlug,
    kid: String(kid),
    integrationId,
    installationId,
    keyId: Object(key).id,
    invitationId: Object(invitation).id,
    membershipId: who.membershipId,
    signInId: who.signInId,
    endpointId: Object(endpoint).id,
    deliveryId: Object(pinged['delivery']).id,
    connectionId: Object(connection).id,
    triggerId,
  }
  return { api, parameters }
}

/** A body for each operation that takes one; each would change something in the caller's own organization. */
const bodies: { readonly [Id in OperationId]?: object } = {
  updateMember: { role: 'admin' },
  updateApp: { name: 'Taken' },
  replayWebhook: { sessionId: '00000000-0000-4000-8000-000000000000' },
  resetMember: { secondFactor: true },
  createInvitation: { email: 'taken@example.test' },
  registerAppKey: { publicKeyPem: 'a key' },
  updateInstallation: { capabilities: ['svc.ai.invoke'] },
  createIntegration: { name: 'Taken', product: 'svc-cloud', capabilities: ['svc.ai.invoke'] },
  createApiKey: { kind: 'cloud' },
  addConnection: { host: 'local', account: 'local' },
  updateConnection: { personalAccess: false },
  registerWebhook: { url: 'https://hooks.example/taken', families: ['run'] },
  replaceTriggerSecret: {},
}

const operations = operationIds.filter(id => {
  const row = operationOf(id)
  return (row.access === 'person' && row.path.startsWith('/api/')) || (row.access === 'bearer' && 'permission' in row)
})
const namesOf = (id: OperationId) => [...operationOf(id).path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
const targeted = operations.filter(id => namesOf(id).length > 0)
const nested = targeted.filter(id => namesOf(id).length > 1)
const lists = operations.filter(id => operationOf(id).method === 'GET')

/** Calls an operation with parameters; fails for a parameter that no organization here has. */
function call(api: Api, id: OperationId, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  const { method, path, body } = operationOf(id)
  const { installationId } = parameters
  const sent = id === 'putTrigger' ? { name: 'Taken', message: 'taken', installationId } : bodies[id]
  if (body !== undefined && sent === undefined) throw new Error(`${id} needs a body in this test`)
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = parameters[name]
    if (value === undefined) throw new Error(`${id} needs ${name} in this test`)
    return value
  })
  return api.call(method, target, sent)
}

/** Everything that an administrator can read of the organization. */
const everything = async ({ api, parameters }: Full) =>
  Object.fromEntries(
    await Promise.all(
      lists.filter(id => id !== 'listAudit').map(async id => [id, (await call(api, id, parameters)).body] as const),
    ),
  )

describe("another organization's resource", () => {
  let before: Readonly<Record<string, unknown>>
  beforeAll(async () => {
    before = await everything(theirs)
  })
  afterAll(async () => {
    // The sender works on its own at the ping that was made for this test.
    const changing = { listWebhookDeliveries: null }
    expect({ ...(await everything(theirs)), ...changing }).toEqual({ ...before, ...changing })
  })

  it.each(targeted)('is not found: %s', async id => {
    // It is idempotent and tells nothing; afterwards their trigger is still there.
    const expected = id === 'deleteTrigger' ? /^204$/ : /^404 \w+_not_found$/
    expect(outcome(await call(own.api, id, theirs.parameters))).toMatch(expected)
  })

  it.each(targeted.filter(id => namesOf(id).some(name => name === 'installationId' || name === 'integrationId')))(
    'is not found, as the own installation of the service is not: %s',
    async id => {
      const { organizationId = '' } = own.parameters
      const installation = await provideOwnInstallation(
        { db: accounts.test.db.database, clock: systemClock },
        organizationId,
      )
      const answer = await call(own.api, id, {
        ...own.parameters,
        installationId: installation.id,
        integrationId: installation.id,
      })
      expect(outcome(answer)).toMatch(/^404 \w+_not_found$/)
    },
  )

  it.each(nested)('is not found by way of the own organization or app: %s', async id => {
    const [outer = ''] = namesOf(id)
    const parameters = { ...theirs.parameters, [outer]: own.parameters[outer] ?? '' }
    const answer = await call(own.api, id, parameters)
    // It is idempotent and tells nothing; afterwards their invitation is still there.
    expect(outcome(answer)).toMatch(id === 'withdrawInvitation' ? /^204$/ : /^404 \w+_not_found$/)
  })

  it.each(lists)('is in no list: %s', async id => {
    const { text } = await call(own.api, id, own.parameters)
    for (const value of Object.values(theirs.parameters)) expect(text).not.toContain(value)
  })

  it('is there for its own administrator', async () => {
    const statuses = await Promise.all(lists.map(async id => (await call(theirs.api, id, theirs.parameters)).status))
    expect(new Set(statuses)).toEqual(new Set([200]))
    for (const [name, value] of Object.entries(theirs.parameters)) {
      expect(JSON.stringify(before), name).toContain(value)
    }
  })
})
