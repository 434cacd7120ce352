import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce, type Shown } from '@berth/testing/accounts/browser.ts'
import { CloudClient, lasting } from '@berth/testing/accounts/client.ts'
import {
  type Account,
  type IdentityProvider,
  startIdentityProvider,
} from '@berth/testing/accounts/identity-provider.ts'
import { Api } from '@berth/testing/api/api.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueInvitation, linkUrl } from '../../src/accounts/links/one-time-link.ts'
import { resetPerson } from '../../src/accounts/people/change-person.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const stolen = 'a password of the administrator'
const own = 'a password of the person'
const acme = randomUUID()
let idp: IdentityProvider
let anyone: IdentityProvider
let accounts: Accounts
let client: CloudClient
beforeAll(async () => {
  ;[idp, anyone] = await Promise.all([startIdentityProvider(), startIdentityProvider()])
  accounts = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    config: {
      identityProviders: [
        { id: 'acme', name: 'Acme', ...idp.configuration, organization: acme, domains: ['acme.test'] },
        { id: 'anyone', name: 'Anyone', ...anyone.configuration },
      ],
    },
  })
  const { url } = accounts.test
  idp.serve(`${url}/external/acme/callback`)
  anyone.serve(`${url}/external/anyone/callback`)
  client = new CloudClient(url)
  await change("insert into organizations (id, name, created_at) values ($1, 'Acme', now())", [acme])
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await Promise.all([idp[Symbol.asyncDispose](), anyone[Symbol.asyncDispose]()])
})

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)
const newBrowser = () => new Browser(accounts.test.url)
const newEmail = () => `${randomUUID()}@acme.test`
const me = async (token: string) => (await new Api(accounts.test.url, token).get('/v1/me')).status
const personOf = async (email: string) => {
  const { rows } = await change('select * from people where email = $1', [email])
  return rows[0] as unknown as {
    id: string
    password_hash: string | null
    totp_secret: Buffer | null
    email_proven_at: Date | null
  }
}
const isMember = async (email: string, organizationId: string) => {
  const text = `select 1 from memberships m join people p on p.id = m.person_id
    where p.email = $1 and m.organization_id = $2 and m.revoked_at is null`
  return (await change(text, [email, organizationId])).rows.length === 1
}

/** An organization with an administrator, who invites people and resets them. */
async function newTeam() {
  const organizationId = (await accounts.test.newTenant()).tenant.organizationId
  const { api } = await accounts.person({ organizationId, role: 'admin' })
  return {
    organizationId,
    invite: async (email: string, role = 'member') => {
      const { body } = await api.call<{ url: string }>('POST', `/api/organizations/${organizationId}/invitations`, {
        email,
        role,
      })
      return body.url
    },
    reset: async (email: string) => {
      const { rows } = await change(
        `select m.id from memberships m join people p on p.id = m.person_id where p.email = $1 and organization_id = $2`,
        [email, organizationId],
      )
      const path = `/api/organizations/${organizationId}/members/${rows[0]?.['id']}/reset`
      return api.call<{ url: string }>('POST', path, {})
    },
  }
}
type Team = Awaited<ReturnType<typeof newTeam>>

const operatorLink = async (email: string) =>
  linkUrl(accounts.test.url, await resetPerson(accounts.test.db.database, email, false, new Date()))

/** Fills in the form of a link. */
async function follow(url: string, fields: Record<string, string>, browser = newBrowser()) {
  return browser.submit(await browser.get(url), fields)
}

/** A person whom a team invited, and who has followed the link with this password. */
async function invited(team: Team, password: string) {
  const email = newEmail()
  expect((await follow(await team.invite(email), { name: 'Wanda', password })).status).toBe(200)
  return email
}

/** Signs in at a provider from a page that offers it. */
async function by(
  provider: IdentityProvider,
  button: string,
  as: Account,
  browser: Browser,
  page: Shown,
  password = '',
) {
  provider.account = as
  const sent = await browser.submit(page, password === '' ? {} : { password }, button)
  return browser.get((await new Browser(provider.issuer).get(sent.url)).url)
}

/** Links an identity of anyone's to an account, on its page. */
async function link(email: string, password: string) {
  const identity = { sub: randomUUID(), email: `${randomUUID()}@elsewhere.test`, email_verified: true }
  const browser = newBrowser()
  const page = await browser.submit(await browser.get('/account/identities'), { email, password })
  const linked = await by(anyone, 'anyone', identity, browser, page, password)
  expect(linked.text).toContain(identity.sub)
  return { identity, browser }
}

async function signInBy(provider: IdentityProvider, button: string, as: Account) {
  const browser = newBrowser()
  const page = await browser.get(client.authorizeUrl(pkce().challenge))
  return { browser, page: await by(provider, button, as, browser, page) }
}

const connectGit = (email: string) =>
  change(
    `insert into host_people (id, person_id, host, provider, account, login, created_at)
     select $1, id, 'git.test', 'github', '7', 'mallory', now() from people where email = $2`,
    [randomUUID(), email],
  )
const linkedTo = async (email: string) => {
  const { id } = await personOf(email)
  const identities = await change('select subject as name from external_identities where person_id = $1', [id])
  const gitAccounts = await change('select login as name from host_people where person_id = $1', [id])
  return [...identities.rows, ...gitAccounts.rows].map(row => row['name'])
}

/** Gives an account a second factor. */
async function withFactor(email: string) {
  const { id } = await personOf(email)
  const secret = Buffer.alloc(20, 7)
  const sealed = accounts.masterKey.seal(secret, `totp/${id}`)
  await change('update people set totp_secret = $2, totp_step = null where id = $1', [id, sealed])
  return () => totpCode(secret, totpStep(new Date()))
}

describe('an administrator who has signed in as a member', () => {
  it('is let in no more by what they linked, once the member has followed a link', async () => {
    const team = await newTeam()
    const email = await invited(team, own)
    await follow((await team.reset(email)).body.url, { password: stolen })
    const { identity, browser } = await link(email, stolen)
    await connectGit(email)
    const { tokens } = await client.signIn({ email, password: stolen }, lasting)
    const done = await follow((await team.reset(email)).body.url, { password: own })
    expect(done.text).toContain(identity.sub)
    expect(done.text).toContain('mallory')
    expect(await linkedTo(email)).toEqual([])
    expect((await signInBy(anyone, 'anyone', identity)).page.status).toBe(403)
    expect((await browser.get('/account')).text).toContain('name="password"')
    expect([await me(tokens.access_token), (await client.refresh(tokens.refresh_token)).status]).toEqual([401, 400])
    const { rows } = await change(
      "select details from audit_log where action = 'person.password_set' and organization_id = $1 order by at desc",
      [team.organizationId],
    )
    expect(rows[0]).toEqual({ details: { identities: 1, gitAccounts: 1, secondFactor: false } })
  })

  it('cannot have the account join another organization, until an operator vouches for the email', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const email = await invited(team, stolen)
    const refused = await follow(await other.invite(email), { password: stolen })
    expect([refused.status, refused.text.includes('whoever operates this service')]).toEqual([409, true])
    expect(await isMember(email, other.organizationId)).toBe(false)
    await withFactor(email)
    const done = await follow(await operatorLink(email), { password: own })
    expect(done.text).toContain('the second factor')
    expect((await personOf(email)).totp_secret).toBeNull()
    expect((await follow(await other.invite(email), { password: own })).status).toBe(200)
    expect(await isMember(email, other.organizationId)).toBe(true)
  })

  it('can reset nobody whose email is proven, and does not learn whether they belong elsewhere', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const email = await invited(team, own)
    await follow(await operatorLink(email), { password: own })
    const alone = await team.reset(email)
    expect((await follow(await other.invite(email), { password: own })).status).toBe(200)
    const both = await team.reset(email)
    expect([alone.status, both.status]).toEqual([409, 409])
    expect(both.body).toEqual(alone.body)
  })
})

describe('an account that joins a second organization', () => {
  const provenMember = async (team: Team) => {
    const email = await invited(team, own)
    await follow(await operatorLink(email), { password: own })
    return email
  }

  it('keeps of what is linked to it what its person confirms, and no sign-in', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const email = await provenMember(team)
    const [kept, dropped] = [(await link(email, own)).identity, (await link(email, own)).identity]
    await connectGit(email)
    const { tokens } = await client.signIn({ email, password: own }, lasting)
    const browser = newBrowser()
    const url = await other.invite(email, 'admin')
    const confirmation = await follow(url, { password: own }, browser)
    for (const named of [kept.sub, dropped.sub, 'mallory']) expect(confirmation.text).toContain(named)
    expect(await isMember(email, other.organizationId)).toBe(false)
    const done = await browser.submit(confirmation, { [`identity ${anyone.issuer} ${kept.sub}`]: 'keep' })
    expect([done.status, done.text.includes(dropped.sub), done.text.includes(kept.sub)]).toEqual([200, true, false])
    expect(await isMember(email, other.organizationId)).toBe(true)
    expect(await linkedTo(email)).toEqual([kept.sub])
    expect(await me(tokens.access_token)).toBe(401)
    expect((await signInBy(anyone, 'anyone', dropped)).page.status).toBe(403)
    expect((await signInBy(anyone, 'anyone', kept)).page.text).toContain('Continue as Wanda')
  })

  it('is asked for the code of its second factor, which a password alone does not take away', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const email = await provenMember(team)
    const code = await withFactor(email)
    const browser = newBrowser()
    const confirmation = await follow(await other.invite(email), { password: own }, browser)
    expect(confirmation.text).toContain('name="code"')
    expect((await browser.submit(confirmation, { code: '000000' })).status).toBe(422)
    expect((await browser.submit(confirmation, { code: code(), proof: 'AAAA' })).status).toBe(422)
    expect(await isMember(email, other.organizationId)).toBe(false)
    expect((await browser.submit(confirmation, { code: code() })).status).toBe(200)
    expect(await isMember(email, other.organizationId)).toBe(true)
    expect((await personOf(email)).totp_secret).not.toBeNull()
  })

  it('is asked nothing more by the third one, which no single administrator could prepare it for', async () => {
    const [team, other, third] = [await newTeam(), await newTeam(), await newTeam()]
    const email = await provenMember(team)
    await follow(await other.invite(email), { password: own })
    const { identity } = await link(email, own)
    const { tokens } = await client.signIn({ email, password: own }, { ...lasting, organization: team.organizationId })
    expect((await follow(await third.invite(email), { password: own })).text).toContain('You are all set')
    expect(await linkedTo(email)).toEqual([identity.sub])
    expect(await me(tokens.access_token)).toBe(200)
  })
})

describe('an account that only an invitation made', () => {
  it('is taken over by whoever a provider knows as the owner of its email, and nobody else gets in any more', async () => {
    const team = await newTeam()
    const email = await invited(team, stolen)
    const { identity, browser: attacker } = await link(email, stolen)
    await connectGit(email)
    await withFactor(email)
    const reset = (await team.reset(email)).body.url
    const victim = { sub: randomUUID(), email, email_verified: true, name: 'Victor' }
    const { browser, page } = await signInBy(idp, 'acme', victim)
    expect(page.text).toContain('Take over the account')
    expect((await personOf(email)).password_hash).not.toBeNull()
    expect((await browser.submit(page, {}, 'claim')).text).toContain('Continue as')
    expect(await isMember(email, acme)).toBe(true)
    expect(await personOf(email)).toMatchObject({
      password_hash: null,
      totp_secret: null,
      email_proven_at: expect.any(Date),
    })
    expect(await linkedTo(email)).toEqual([victim.sub])
    expect((await signInBy(anyone, 'anyone', identity)).page.status).toBe(403)
    expect((await attacker.get('/account')).text).toContain('name="password"')
    expect((await newBrowser().get(reset)).status).toBe(404)
    expect((await team.reset(email)).status).toBe(409)
    const { rows } = await change(
      "select details from audit_log where action = 'person.taken_over' and organization_id = $1",
      [team.organizationId],
    )
    expect(rows).toEqual([{ details: { provider: 'acme', identities: 1, gitAccounts: 1, secondFactor: true } }])
    expect((await signInBy(idp, 'acme', victim)).page.text).toContain('Continue as')
  })

  it('stays as it is if they decline, if the email is another one, or if the claim is of another form', async () => {
    const team = await newTeam()
    const email = await invited(team, own)
    const before = await personOf(email)
    const claims = { sub: randomUUID(), email, email_verified: true }
    const declined = await signInBy(idp, 'acme', claims)
    expect(new URL((await declined.browser.submit(declined.page, {}, 'cancel')).url).searchParams.get('error')).toBe(
      'access_denied',
    )
    const unverified = await signInBy(idp, 'acme', { ...claims, email_verified: false })
    const unlisted = await signInBy(anyone, 'anyone', claims)
    expect([unverified.page.status, unlisted.page.status]).toEqual([403, 403])
    const confirmation = await signInBy(idp, 'acme', claims)
    const elsewhere = newBrowser()
    const form = await elsewhere.get(client.authorizeUrl(pkce().challenge))
    const claim = /name="claim" value="([^"]*)"/.exec(confirmation.page.text)?.[1] ?? ''
    expect((await elsewhere.submit(form, { claim })).status).toBe(401)
    expect(await personOf(email)).toEqual(before)
  })

  it('is not that of a mailbox whose spelling only the database takes for the same', async () => {
    const team = await newTeam()
    const email = `i${newEmail()}`
    await follow(await team.invite(email), { name: 'Ivy', password: own })
    const claims = { sub: randomUUID(), email: email.replace('i', 'İ'), email_verified: true }
    const { page } = await signInBy(idp, 'acme', claims)
    expect([page.status, page.text.includes('Take over')]).toEqual([403, false])
  })
})

it('an invitation tells nobody who holds it whether the email has an account', async () => {
  const [team, other] = [await newTeam(), await newTeam()]
  const [known, unknown] = [await invited(team, own), newEmail()]
  const textOf = async (email: string, fields?: Record<string, string>) => {
    const url = await other.invite(email)
    const page = fields === undefined ? await newBrowser().get(url) : await follow(url, fields)
    return `${page.status} ${page.text.replaceAll(email, 'the email')}`
  }
  expect(await textOf(known)).toBe(await textOf(unknown))
  for (const fields of [{ password: 'a guess that is long' }, { name: 'Any', password: 'short' }] as const) {
    expect(await textOf(known, fields)).toBe(await textOf(unknown, fields))
  }
  expect(await personOf(unknown)).toBeUndefined()
})

it('an operator who invites somebody vouches for the email', async () => {
  const { organizationId } = await newTeam()
  const email = newEmail()
  const invitation = { organizationId, email, role: 'member', permissions: [] } as const
  const url = linkUrl(accounts.test.url, await issueInvitation(accounts.test.db.database, invitation, null, new Date()))
  await follow(url, { name: 'Olga', password: own })
  expect((await follow(await (await newTeam()).invite(email), { password: own })).status).toBe(200)
})
