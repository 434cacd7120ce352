import { randomUUID } from 'node:crypto'
import type { Context } from '@berth/core/context.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import type { Logger } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOrganization, readOrganizations, setOrganization } from '../../src/admin/organizations.ts'
import {
  bootstrapDeployment,
  endMember,
  invitePerson,
  issuePersonReset,
  readMembers,
  setMember,
  setPersonEnabled,
} from '../../src/admin/people.ts'
import { provideDevelopment } from '../../src/composition/development.ts'

const password = 'correct horse battery staple'
let test: TestService
let variables: Record<string, string>
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api,account' } })
  variables = { DATABASE_URL: databaseUrl(test.db), BERTH_AUTH_URL: test.url }
})
afterAll(() => test[Symbol.asyncDispose]())

const follow = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
/** Makes an organization with an administrator who has accepted an invitation. */
const organizationWithAdmin = async () => {
  const { id: organizationId } = await createOrganization(variables, 'Some organization')
  const email = `${randomUUID()}@example.test`
  const { url } = await invitePerson(variables, { organizationId, email, role: 'admin', permissions: [] })
  expect((await follow(url, { name: 'First', password })).status).toBe(200)
  const [admin] = await readMembers(variables, organizationId)
  if (admin === undefined) throw new Error('nobody joined')
  return { organizationId, email, admin }
}
const join = async (organizationId: string) => {
  const email = `${randomUUID()}@example.test`
  const { url } = await invitePerson(variables, { organizationId, email, role: 'member', permissions: [] })
  await follow(url, { name: 'Second', password })
  const member = (await readMembers(variables, organizationId)).find(one => one.email === email)
  if (member === undefined) throw new Error('nobody joined')
  return member
}
const actionsOf = async (organizationId: string) => {
  const { rows } = await test.db.database.query<{ action: string }>(
    'select action from audit_log where organization_id = $1 order by at',
    [organizationId],
  )
  return rows.map(({ action }) => action)
}

describe('bootstrapping', () => {
  it('makes the first administrator of an empty deployment, who chooses a password by the link, and only one', async () => {
    await using empty = await createTestDatabase()
    const its = { DATABASE_URL: databaseUrl(empty) }
    const first = { email: 'first@example.test', organization: 'First' }
    const tries = await Promise.allSettled([bootstrapDeployment(its, first), bootstrapDeployment(its, first)])
    const made = tries.flatMap(tried => (tried.status === 'fulfilled' ? [tried.value] : []))
    expect(made).toHaveLength(1)
    const [{ organizationId = '', url = '' } = {}] = made
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/links\/[A-Za-z0-9_-]{43}$/)
    expect(await readMembers(its, organizationId)).toMatchObject([{ email: first.email, name: 'first', role: 'admin' }])
    await expect(bootstrapDeployment(its, first)).rejects.toThrow('has an organization already')
  })

  it('is named in the log by a production start on an empty database, and no longer once it was done', async () => {
    await using empty = await createTestDatabase()
    const warnings: unknown[] = []
    const log = { warn: (line: unknown) => warnings.push(line) } as unknown as Logger
    const context = { ...({} as Context), db: empty.database, log }
    const settings = { ...test.service.settings, production: true }
    expect(await provideDevelopment(context, settings, true)).toBeNull()
    expect(warnings).toEqual([expect.stringContaining('berth admin bootstrap --email')])
    await createTenant(empty.database)
    await provideDevelopment(context, settings, true)
    expect(warnings).toHaveLength(1)
  })

  it.each([
    [{ email: 'nobody', organization: 'First' }, 'is no email'],
    [{ email: 'first@example.test', organization: ' ' }, 'a name is'],
  ])('is refused with %j', async (first, reason) => {
    await expect(async () => bootstrapDeployment(variables, first)).rejects.toThrow(reason)
  })
})

describe('an operator', () => {
  it('suspends an organization and resumes it, and its keys follow on the next request', async () => {
    const { organizationId, apiKey } = await createTenant(test.db.database)
    const api = new Api(test.url, apiKey)
    expect((await api.get('/v1/sessions')).status).toBe(200)
    await setOrganization(variables, organizationId, { suspended: true })
    expect((await api.get('/v1/sessions')).status).toBe(401)
    await setOrganization(variables, organizationId, { suspended: false })
    expect((await api.get('/v1/sessions')).status).toBe(200)
    expect(await actionsOf(organizationId)).toEqual(['organization.suspended', 'organization.resumed'])
  })

  it('takes product access from an organization, and gives it back', async () => {
    const { organizationId, apiKey } = await createTenant(test.db.database)
    const api = new Api(test.url, apiKey)
    await setOrganization(variables, organizationId, { cloudAccess: false })
    expect((await api.get('/v1/sessions')).status).toBe(403)
    await setOrganization(variables, organizationId, { cloudAccess: true })
    expect((await api.get('/v1/sessions')).status).toBe(200)
  })

  it("gives an organization a rate of its own, which its answers show, and returns to the deployment's", async () => {
    const { organizationId, apiKey } = await createTenant(test.db.database)
    const policy = async () =>
      (await fetch(`${test.url}/v1/sessions`, { headers: { authorization: `Bearer ${apiKey}` } })).headers.get(
        'ratelimit-policy',
      )
    const before = await policy()
    await setOrganization(variables, organizationId, { rate: { burst: 17, perMinute: 6 } })
    expect(await policy()).not.toBe(before)
    expect(await policy()).toContain('17')
    await setOrganization(variables, organizationId, { rate: null })
    expect(await policy()).toBe(before)
    expect((await readOrganizations(variables)).find(({ id }) => id === organizationId)?.rate).toBeNull()
    await expect(async () =>
      setOrganization(variables, organizationId, { rate: { burst: 0, perMinute: 1 } }),
    ).rejects.toThrow('whole numbers')
  })

  it('invites people, changes their role and permissions, removes them, and the audit log tells all of it', async () => {
    const { organizationId } = await organizationWithAdmin()
    const member = await join(organizationId)
    const permissions = ['organization.integrations.manage']
    expect(await setMember(variables, member.id, { permissions })).toMatchObject({ role: 'member', permissions })
    expect(await setMember(variables, member.id, { role: 'admin' })).toMatchObject({ role: 'admin', permissions })
    await endMember(variables, member.id)
    expect(await readMembers(variables, organizationId)).toHaveLength(1)
    await expect(endMember(variables, member.id)).rejects.toThrow('there is no member')
    expect(await actionsOf(organizationId)).toEqual([
      'organization.created',
      'member.invited',
      'member.joined',
      'member.invited',
      'member.joined',
      'member.changed',
      'member.changed',
      'member.removed',
    ])
    const { rows } = await test.db.database.query("select 1 from audit_log where details::text like '%@%'")
    expect(rows).toEqual([])
  })

  it('cannot take the last administrator from an organization, in whatever way', async () => {
    const { organizationId, admin, email } = await organizationWithAdmin()
    const last = 'without an administrator'
    await expect(setMember(variables, admin.id, { role: 'member' })).rejects.toThrow(last)
    await expect(endMember(variables, admin.id)).rejects.toThrow(last)
    await expect(setPersonEnabled(variables, email, false)).rejects.toThrow(last)
    const other = await join(organizationId)
    await setMember(variables, other.id, { role: 'admin' })
    const both = await Promise.allSettled([endMember(variables, admin.id), endMember(variables, other.id)])
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('disables a person and enables them again', async () => {
    const { organizationId } = await organizationWithAdmin()
    const { email } = await join(organizationId)
    await setPersonEnabled(variables, email, false)
    await expect(issuePersonReset(variables, email, false)).rejects.toThrow('is disabled')
    await setPersonEnabled(variables, email, true)
    const { url } = await issuePersonReset(variables, email, true)
    expect((await follow(url, { password: 'another password of mine' })).status).toBe(200)
  })

  it.each([
    ['role', () => setMember(variables, randomUUID(), { role: 'owner' }), 'is no role'],
    ['permission', () => setMember(variables, randomUUID(), { permissions: ['all'] }), 'is no permission'],
    ['member', () => setMember(variables, 'x', { role: 'admin' }), 'there is no member x'],
    ['person', () => setPersonEnabled(variables, 'nobody@example.test', false), 'nobody has the email'],
    ['organization', () => setOrganization(variables, 'x', { suspended: true }), 'There is no such organization'],
  ])('is told that there is no such %s', async (_, act, reason) => {
    await expect(async () => act()).rejects.toThrow(reason)
  })
})
