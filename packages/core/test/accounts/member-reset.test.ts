import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser } from '@berth/testing/accounts/browser.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueInvitation } from '../../src/accounts/links/one-time-link.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { replaceRecoveryCodes } from '../../src/accounts/second-factor/recovery-codes.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const password = 'correct horse battery'
const chosen = 'another horse battery'
let accounts: Accounts
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts()
  hashed = await hashPassword(password)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[]) => accounts.test.db.database.query(text, values)
const newOrganization = async () => (await accounts.test.newTenant()).tenant.organizationId

/** An administrator, and a member who has a second factor with recovery codes. */
async function team() {
  const organizationId = await newOrganization()
  const admin = await accounts.person({ organizationId, role: 'admin' })
  const member = await accounts.person({ organizationId })
  const { personId, membershipId } = member.who
  const secret = accounts.masterKey.seal(Buffer.alloc(20), `totp/${personId}`)
  await change('update people set password_hash = $2, totp_secret = $3 where id = $1', [personId, hashed, secret])
  await replaceRecoveryCodes(accounts.test.db.database, accounts.masterKey, personId)
  const path = `/api/organizations/${organizationId}/members/${membershipId}/reset`
  const reset = (body: object = {}, by = admin) => by.api.call<{ url: string; expiresAt: string }>('POST', path, body)
  return { organizationId, admin, member, reset }
}
type Team = Awaited<ReturnType<typeof team>>

/** Returns whether the person has a second factor, and how many recovery codes. */
async function factorOf({ member }: Team) {
  const { rows } = await change(
    `select totp_secret is not null as has, (select count(*) from recovery_codes where person_id = p.id) as codes
     from people p where id = $1`,
    [member.who.personId],
  )
  return rows[0]
}

async function auditOf({ admin, organizationId }: Team, action: string) {
  const { body } = await admin.api.get<{ entries: AuditEntry[] }>(`/api/organizations/${organizationId}/audit`)
  return body.entries.filter(entry => entry.action === action)
}

const follow = (url: string) => fetch(url, { method: 'POST', body: new URLSearchParams({ password: chosen }) })
const join = async ({ who }: Team['member'], organizationId: string) => {
  const invited = { organizationId, email: who.email, role: 'member', permissions: [] } as const
  const { secret } = await issueInvitation(accounts.test.db.database, invited, null, new Date())
  const browser = new Browser(accounts.test.url)
  const form = await browser.submit(await browser.get(`/links/${secret}`), { password })
  return (await browser.submit(form, { code: totpCode(Buffer.alloc(20), totpStep(new Date())) })).status
}

describe('an administrator who resets a member', () => {
  it('hands over a link that sets a password once, and leaves the second factor alone', async () => {
    const all = await team()
    const [first, second] = [await all.reset(), await all.reset({ secondFactor: false })]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(Math.round((Date.parse(second.body.expiresAt) - Date.now()) / 3_600_000)).toBe(24)
    expect((await all.member.api.get('/v1/me')).status).toBe(200)
    expect((await follow(first.body.url)).status).toBe(404)
    expect((await follow(second.body.url)).status).toBe(200)
    expect((await follow(second.body.url)).status).toBe(404)
    expect(outcome(await all.member.api.get('/v1/me'))).toBe('401 invalid_or_expired_credential')
    expect(await factorOf(all)).toEqual({ has: true, codes: 10 })
  })

  it('removes the second factor and its recovery codes if asked to, and ends the sign-ins at once', async () => {
    const all = await team()
    expect((await all.reset({ secondFactor: true })).status).toBe(201)
    expect(await factorOf(all)).toEqual({ has: false, codes: 0 })
    expect(outcome(await all.member.api.get('/v1/me'))).toBe('401 invalid_or_expired_credential')
  })

  it('is named in the audit log, where no email is told', async () => {
    const all = await team()
    await all.reset({ secondFactor: true })
    for (const action of ['person.reset_issued', 'person.second_factor_removed']) {
      const [entry, ...more] = await auditOf(all, action)
      expect(more).toEqual([])
      expect(entry).toMatchObject({
        actor: { kind: 'person', id: all.admin.who.personId },
        target: `person/${all.member.who.personId}`,
        address: '127.0.0.1',
        outcome: 'done',
      })
      expect(JSON.stringify(entry)).not.toContain('@')
    }
  })

  it('takes over no account that belongs to another organization as well', async () => {
    const all = await team()
    expect(await join(all.member, await newOrganization())).toBe(200)
    const refused = await all.reset({ secondFactor: true })
    expect(outcome(refused)).toBe('409 member_reset_refused')
    expect(refused.text).toContain('ask an operator')
    expect(await factorOf(all)).toEqual({ has: true, codes: 10 })
    expect(await auditOf(all, 'person.reset_issued')).toEqual([])
  })

  it('keeps no link that would take over an account once it has joined another organization', async () => {
    const all = await team()
    const { url } = (await all.reset()).body
    expect(await join(all.member, await newOrganization())).toBe(200)
    expect((await follow(url)).status).toBe(404)
    const { rows } = await change('select password_hash from people where id = $1', [all.member.who.personId])
    expect(rows).toEqual([{ password_hash: hashed }])
  })

  it('never has a link for somebody who joins another organization at the same moment', async () => {
    const all = await team()
    const other = await newOrganization()
    const [answer, joined] = await Promise.all([all.reset(), join(all.member, other)])
    expect(joined).toBe(200)
    if (answer.status === 201) expect((await follow(answer.body.url)).status).toBe(404)
    else expect(outcome(answer)).toBe('409 member_reset_refused')
  })

  it('cannot reset themselves, nor a person who is disabled or not theirs', async () => {
    const all = await team()
    const own = `/api/organizations/${all.organizationId}/members/${all.admin.who.membershipId}/reset`
    expect(outcome(await all.admin.api.call('POST', own, {}))).toBe('409 member_reset_refused')
    await change('update people set disabled_at = now() where id = $1', [all.member.who.personId])
    expect(outcome(await all.reset())).toBe('409 member_reset_refused')
    const path = `/api/organizations/${all.organizationId}/members/${randomUUID()}/reset`
    expect(outcome(await all.admin.api.call('POST', path, {}))).toBe('404 membership_not_found')
    expect(outcome(await all.reset({}, (await team()).admin))).toBe('404 organization_not_found')
    expect(outcome(await all.reset({}, await accounts.person(all)))).toBe('403 insufficient_scope')
    expect(outcome(await all.reset({ email: 'x@example.test' }))).toBe('400 invalid_request')
  })
})
