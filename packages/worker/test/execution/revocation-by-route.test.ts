import { type Capability, capabilities, type Session } from '@berth/contract'
import { disablePerson } from '@berth/core/accounts/people/change-person.ts'
import { setOrganization } from '@berth/server/admin/organizations.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Api } from '@berth/testing/api/api.ts'
import type { Tenant } from '@berth/testing/api/tenant.ts'
import { endRows, revokedEnd, toolDone } from '@berth/testing/runs/end-rows.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  accounts = stack.use(await startAccounts({ variables, fixed: { cancelGraceMs: 600_000 }, config: { runtimes } }))
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const question = JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })
const openQuestions = async ({ id }: Session) => {
  const { rows } = await db().query("select 1 from interactions where session_id = $1 and status = 'open'", [id])
  return rows.length
}

/** An organization with a Run that works and another that waits for an answer, and its administrator. */
interface Working {
  readonly tenant: Tenant
  readonly api: Api
  readonly boss: Api
  readonly running: Session
  readonly asking: Session
}

async function work(): Promise<Working> {
  const { tenant, api } = await accounts.test.newTenant()
  const boss = (await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })).api
  const begin = (script: string) => api.createSession({ runtime: 'scripted' }, script)
  const running = await begin('tool here\nwait /workspace/go')
  const asking = await begin(`ask ${question}`)
  await toolDone(db(), running, 'here')
  await until('an open question', async () => (await openQuestions(asking)) === 1)
  return { tenant, api, boss, running, asking }
}

const operator = () => ({ DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir })
const grantWithout = async ({ boss, tenant }: Working, capability: Capability) => {
  const held = capabilities.filter(each => each !== capability)
  const answer = await boss.call('PATCH', `/api/installations/${tenant.installationId}`, { capabilities: held })
  expect(answer.status).toBe(200)
}

describe('a Run in its sandbox', () => {
  it.each<[string, (working: Working) => Promise<unknown>]>([
    [
      'its installation is revoked',
      ({ boss, tenant }) => boss.call('DELETE', `/api/installations/${tenant.installationId}`),
    ],
    [
      'its organization is suspended',
      ({ tenant }) => setOrganization(operator(), tenant.organizationId, { suspended: true }),
    ],
    [
      'its organization loses product access',
      ({ tenant }) => setOrganization(operator(), tenant.organizationId, { cloudAccess: false }),
    ],
    ['its grant loses product access', working => grantWithout(working, 'svc.cloud.access')],
  ])('is cancelled and sealed, and its question expires, when %s', async (_, act) => {
    const working = await work()
    await act(working)
    expect(await endRows(db(), working.running)).toEqual(revokedEnd)
    expect(await endRows(db(), working.asking)).toEqual({ ...revokedEnd, resolutions: ['authority_revoked'] })
  })

  it('goes on, as does its question, through everything else that is revoked', async () => {
    const working = await work()
    const { boss, tenant, running, asking } = working
    const { organizationId, installationId } = tenant
    const members = `/api/organizations/${organizationId}/members`
    const author = await accounts.person({ organizationId, role: 'admin' })
    const disabled = await accounts.person({ organizationId })
    for (const [session, who] of [
      [running, author.who],
      [asking, disabled.who],
    ] as const) {
      await db().query("update turns set author_kind = 'person', author_id = $2 where session_id = $1", [
        session.id,
        who.personId,
      ])
    }
    const keys = `/api/organizations/${organizationId}/integrations/${installationId}/keys`
    const [key] = (await boss.get<{ keys: { id: string }[] }>(keys)).body.keys
    const statuses = [
      await boss.call('PATCH', `${members}/${author.who.membershipId}`, { role: 'member' }),
      await author.api.call('DELETE', `/api/sign-ins/${author.who.signInId}`),
      await boss.call('DELETE', `${members}/${author.who.membershipId}`),
      await boss.call('DELETE', `${keys}/${key?.id}`),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 204, 204, 204])
    await disablePerson(db(), disabled.who.email, new Date())
    await grantWithout(working, 'svc.cloud.sessions:read')

    // A Run that is revoked later has ended, so these have been judged since.
    const later = await work()
    await later.boss.call('DELETE', `/api/installations/${later.tenant.installationId}`)
    expect(await endRows(db(), later.running)).toEqual(revokedEnd)
    expect(await openQuestions(asking)).toBe(1)
    await touch(db(), accounts.test.dataDir, running, 'go')
    expect(await endRows(db(), running)).toMatchObject({ ended: 'completed completed', resolutions: [] })
  })
})
