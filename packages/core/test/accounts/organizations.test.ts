import type { AuditEntry, Invitation, Member, SignIn } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const password = 'correct horse battery staple'
let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts()
})
afterAll(() => accounts[Symbol.asyncDispose]())

const url = (organizationId: string, rest: string) => `/api/organizations/${organizationId}/${rest}`
/** An organization with an administrator who has signed in. */
const organization = async () => {
  const { tenant } = await accounts.test.newTenant()
  const { organizationId } = tenant
  const admin = await accounts.person({ organizationId, role: 'admin' })
  return { organizationId, ...admin, of: (rest: string) => url(organizationId, rest) }
}
const auditOf = async (api: Api, organizationId: string, query = '') => {
  const { body } = await api.get<{ entries: AuditEntry[]; nextCursor: string; hasMore: boolean }>(
    url(organizationId, `audit${query}`),
  )
  return body
}

describe('an administrator', () => {
  it('lists the members of their organization', async () => {
    const { organizationId, api, who, of } = await organization()
    const member = await accounts.person({ organizationId, permissions: ['organization.integrations.manage'] })
    const { status, body } = await api.get<{ members: Member[] }>(of('members'))
    expect(status).toBe(200)
    expect(body.members).toHaveLength(2)
    expect(body.members).toContainEqual(
      expect.objectContaining({
        id: member.who.membershipId,
        person: { id: member.who.personId, name: 'Robin Marsh', email: member.who.email },
        role: 'member',
        permissions: ['organization.integrations.manage'],
        disabled: false,
      }),
    )
    expect(body.members.map(({ id }) => id)).toContain(who.membershipId)
  })

  it('invites a person by a link that works, lists the invitation, and can withdraw it', async () => {
    const { api, of } = await organization()
    const invited = { email: 'invited@example.test', permissions: ['organization.applications.manage'] }
    const made = await api.call<{ invitation: Invitation; url: string }>('POST', of('invitations'), invited)
    expect(made.status).toBe(201)
    expect(made.body.invitation).toMatchObject({ ...invited, role: 'member' })
    expect((await api.get(of('invitations'))).body).toEqual({ success: true, invitations: [made.body.invitation] })
    expect(JSON.stringify((await api.get(of('invitations'))).body)).not.toContain(made.body.url)

    const withdraw = of(`invitations/${made.body.invitation.id}`)
    expect((await api.call('DELETE', withdraw)).status).toBe(204)
    expect((await api.call('DELETE', withdraw)).status).toBe(204)
    expect((await fetch(made.body.url)).status).toBe(404)

    const again = await api.call<{ url: string }>('POST', of('invitations'), invited)
    const fields = new URLSearchParams({ name: 'Invited', password })
    expect((await fetch(again.body.url, { method: 'POST', body: fields })).status).toBe(200)
    expect((await api.get(of('invitations'))).body).toEqual({ success: true, invitations: [] })
  })

  it('gives a member permissions and another role, which hold on the next request', async () => {
    const { organizationId, api, of } = await organization()
    const { who, api: asMember } = await accounts.person({ organizationId })
    expect(outcome(await asMember.get(of('members')))).toBe('403 insufficient_scope')
    const path = of(`members/${who.membershipId}`)
    const changed = await api.call('PATCH', path, { permissions: ['organization.integrations.manage'] })
    expect(changed.body).toMatchObject({
      member: { role: 'member', permissions: ['organization.integrations.manage'] },
    })
    const { capabilities } = Object((await asMember.get('/v1/me')).body)
    expect(capabilities).toContain('organization.integrations.manage')
    expect((await api.call('PATCH', path, { role: 'admin' })).status).toBe(200)
    expect((await asMember.get(of('members'))).status).toBe(200)
    expect((await api.call('PATCH', path, { role: 'member' })).status).toBe(200)
    expect(outcome(await asMember.get(of('members')))).toBe('403 insufficient_scope')
    expect(outcome(await api.call('PATCH', path, {}))).toBe('400 invalid_request')
    expect(outcome(await api.call('PATCH', path, { role: 'owner' }))).toBe('400 invalid_request')
  })

  it('removes a member, whose token is refused on the next request', async () => {
    const { organizationId, api, of } = await organization()
    const { who, api: asMember } = await accounts.person({ organizationId })
    expect((await asMember.get('/v1/me')).status).toBe(200)
    const path = of(`members/${who.membershipId}`)
    expect((await api.call('DELETE', path)).status).toBe(204)
    expect(outcome(await asMember.get('/v1/me'))).toBe('401 invalid_or_expired_credential')
    expect(outcome(await api.call('DELETE', path))).toBe('404 membership_not_found')
  })

  it('cannot leave the organization without an administrator, not even two at the same moment', async () => {
    const { organizationId, api, who, of } = await organization()
    const own = of(`members/${who.membershipId}`)
    expect(outcome(await api.call('DELETE', own))).toBe('409 last_administrator')
    expect(outcome(await api.call('PATCH', own, { role: 'member' }))).toBe('409 last_administrator')
    const second = await accounts.person({ organizationId, role: 'admin' })
    const answers = await Promise.all([
      api.call('DELETE', of(`members/${second.who.membershipId}`)),
      second.api.call('DELETE', own),
    ])
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
  })

  it('reads the audit log page by page, and by action', async () => {
    const { organizationId, api, who, of } = await organization()
    for (const name of ['a', 'b', 'c']) await api.call('POST', of('invitations'), { email: `${name}@example.test` })
    const { who: member } = await accounts.person({ organizationId })
    await api.call('DELETE', of(`members/${member.membershipId}`))
    const first = await auditOf(api, organizationId, '?limit=3')
    expect(first.hasMore).toBe(true)
    expect(first.entries[0]).toMatchObject({
      action: 'member.removed',
      actor: { kind: 'person', id: who.personId },
      target: `membership/${member.membershipId}`,
      address: '127.0.0.1',
      outcome: 'done',
    })
    const rest = await auditOf(api, organizationId, `?limit=3&cursor=${first.nextCursor}`)
    expect([...first.entries, ...rest.entries].map(({ action }) => action)).toEqual([
      'member.removed',
      'member.invited',
      'member.invited',
      'member.invited',
    ])
    expect((await auditOf(api, organizationId, '?action=member.invited')).entries).toHaveLength(3)
    expect((await auditOf(api, organizationId, '?action=member')).entries).toEqual([])
    expect(JSON.stringify(rest.entries)).not.toContain('@')
    expect(outcome(await api.get(of(`audit?action=member.removed&cursor=${first.nextCursor}`)))).toBe(
      '400 invalid_request',
    )
  })
})

describe('a person', () => {
  it('sees their own sign-ins and ends one, which stops its tokens at once', async () => {
    const { organizationId, api, who } = await organization()
    const { body } = await api.get<{ signIns: SignIn[] }>('/api/sign-ins')
    expect(body.signIns).toMatchObject([{ id: who.signInId, organizationId, clientId: 'svc-cloud', current: true }])
    expect((await api.call('DELETE', `/api/sign-ins/${who.signInId}`)).status).toBe(204)
    expect(outcome(await api.get('/v1/me'))).toBe('401 invalid_or_expired_credential')
  })

  it('cannot end the sign-in of somebody else', async () => {
    const theirs = await organization()
    const { api } = await organization()
    expect(outcome(await api.call('DELETE', `/api/sign-ins/${theirs.who.signInId}`))).toBe('404 sign_in_not_found')
    expect((await theirs.api.get('/v1/me')).status).toBe(200)
  })
})
