import { randomBytes } from 'node:crypto'
import { capabilities, type Role } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type AskingApp, makeAskingApp } from '@berth/testing/accounts/asking-app.ts'
import { pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { inspect } from '@berth/testing/browser/inspect.ts'
import { startOtherSite } from '@berth/testing/browser/other-site.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueInvitation, issueReset, linkUrl } from '../../src/accounts/links/one-time-link.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'

const password = 'correct horse battery'
let accounts: Accounts
let browser: Browser
let app: AskingApp
let program: CloudClient
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  browser = await launchChromium()
  app = await makeAskingApp(accounts, 'The Application With a Long Name', 'https://app.example/installed')
  program = new CloudClient(accounts.test.url)
  hashed = await hashPassword(password)
})
afterAll(async () => {
  await browser?.close()
  await accounts?.[Symbol.asyncDispose]()
})

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)
const newOrganization = async () => (await accounts.test.newTenant()).tenant.organizationId

/** A member with a password, at an address of their own. */
async function newPerson(role: Role = 'admin') {
  const person = await signInPerson(accounts.test.db.database, await newOrganization(), { role })
  await change('update people set password_hash = $2, name = $3 where id = $1', [
    person.personId,
    hashed,
    'Maximiliane Alexandra von der Grünewaldhausen',
  ])
  return person
}
const visit = (scripts = false) => newVisitor(browser, { scripts, address: [10, ...randomBytes(3)].join('.') })

const beginDevice = async (): Promise<{ user_code: string; verification_uri: string }> => {
  const body = new URLSearchParams({ client_id: 'svc-cloud', scope: 'openid offline_access' })
  return Object(await (await fetch(`${accounts.test.url}/oidc/device/auth`, { method: 'POST', body })).json())
}

describe('in a browser without scripts', () => {
  it('a page shows in no frame of another site', async () => {
    const { authorizeUrl } = await app.ask(['svc.cloud.access'])
    await using site = await startOtherSite(`<h1>Win a prize</h1><iframe src="${authorizeUrl}"></iframe>`)
    await using visitor = await visit()
    await visitor.page.goto(site.origin)
    const [, frame] = visitor.page.frames()
    expect(frame?.url()).toBe('chrome-error://chromewebdata/')
    expect(visitor.complaints.join()).toContain('frame')
  })

  it('a wrong password is told beside the email that was written, and can be tried again five times', async () => {
    const { email } = await newPerson()
    await using visitor = await visit()
    const { page, fill, press, complaints } = visitor
    const { authorizeUrl } = await app.ask(['svc.cloud.access'])
    await page.goto(authorizeUrl)
    await fill({ Email: email, Password: 'a wrong password' })
    await press('Sign in')
    expect(await page.getByRole('alert').textContent()).toBe('Email or password is wrong.')
    expect(await page.getByLabel('Email').inputValue()).toBe(email)
    expect(await page.locator(':focus').getAttribute('name')).toBe('password')
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await fill({ Password: 'a wrong password' })
      await press('Sign in')
    }
    expect(await page.getByRole('alert').textContent()).toContain('Too many attempts. Try again in')
    expect(complaints).toEqual([])
  })

  it('the back button leads to the page as it is now, and sends no form again', async () => {
    const { email } = await newPerson()
    await using visitor = await visit()
    const { page, fill, press, heading, complaints } = visitor
    const { authorizeUrl } = await app.ask(['svc.cloud.access'])
    await page.goto(authorizeUrl)
    await fill({ Email: email, Password: password })
    await press('Sign in')
    expect(await heading()).toContain('Install')
    await page.goBack()
    expect(await heading()).toContain('Install')
    expect(complaints).toEqual([])
  })

  it('a device is connected by its code, in small letters too, and the browser can be signed out', async () => {
    const { email } = await newPerson()
    await using visitor = await visit()
    const { page, fill, press, heading, complaints } = visitor
    const { user_code: code, verification_uri: address } = await beginDevice()
    await page.goto(address)
    await fill({ Code: code.toLowerCase() })
    await press('Continue')
    expect(await page.locator('.user-code').textContent()).toBe(code)
    await press('The code is the same')
    await fill({ Email: email, Password: password })
    await press('Sign in')
    await press('Continue as')
    expect(await heading()).toBe('Device connected')
    await page.goto(`${accounts.test.url}/oidc/session/end`)
    await press('Sign out')
    expect(await heading()).toBe('Signed out')
    await page.goto((await app.ask(['svc.cloud.access'])).authorizeUrl)
    expect(await heading()).toBe('Sign in')
    expect(complaints).toEqual([])
  })

  it('password managers and phones learn what each field is for', async () => {
    const { email } = await newPerson()
    await using visitor = await visit()
    const { page, fill, press } = visitor
    const fields = () =>
      page
        .locator('input[autocomplete]')
        .evaluateAll(inputs =>
          inputs.map(input => `${input.getAttribute('type')} ${input.getAttribute('autocomplete')}`),
        )
    const invited = { organizationId: await newOrganization(), email: 'new@example.test', role: 'member' } as const
    const db = accounts.test.db.database
    const link = await issueInvitation(db, { ...invited, permissions: [] }, null, new Date())
    await page.goto(linkUrl(accounts.test.url, link))
    expect(await fields()).toEqual(['email username', 'text name', 'password new-password'])
    await page.goto(program.authorizeUrl(pkce().challenge))
    expect(await fields()).toEqual(['email username', 'password current-password'])
    await change('update people set totp_secret = $2 where email = $1', [email, randomBytes(20)])
    await fill({ Email: email, Password: password })
    await press('Sign in')
    expect(await fields()).toEqual(['text one-time-code', 'text off'])
  })
})

describe('every page is one that all people can use, in both colour schemes and on a phone:', () => {
  const walk = async (visitor: Visitor, ...steps: readonly (() => Promise<unknown>)[]) => {
    const faults: Record<string, string[]> = {}
    for (const step of steps) {
      await step()
      const found = await inspect(visitor.page)
      if (found.length > 0) faults[await visitor.heading()] = found
    }
    return faults
  }

  it('those of one-time links', async () => {
    await using visitor = await visit(true)
    const { page, fill, press } = visitor
    const { email, personId } = await newPerson()
    const db = accounts.test.db.database
    const invite = async (to: string) => {
      const invited = { organizationId: await newOrganization(), email: to, role: 'member', permissions: [] } as const
      return page.goto(linkUrl(accounts.test.url, await issueInvitation(db, invited, null, new Date())))
    }
    const faults = await walk(
      visitor,
      () => invite(email),
      async () => page.goto(linkUrl(accounts.test.url, await issueReset(db, personId, null, new Date()))),
      () => invite('walking@example.test'),
      async () => {
        await fill({ 'Your name': 'Ada', Password: 'walking@example.test' })
        await press('Join')
      },
      async () => {
        await fill({ Password: password })
        await press('Join')
      },
      () => page.goto(`${accounts.test.url}/links/none`),
    )
    expect(faults).toEqual({})
  })

  it('those of a sign-in, of a device and of a sign-out', async () => {
    await using visitor = await visit(true)
    const { page, fill, press } = visitor
    const { email, personId } = await newPerson()
    const { user_code: code, verification_uri: address } = await beginDevice()
    const faults = await walk(
      visitor,
      () => page.goto(address),
      async () => {
        await fill({ Code: 'BBBB-BBBB' })
        await press('Continue')
      },
      async () => {
        await fill({ Code: code })
        await press('Continue')
      },
      () => press('The code is the same'),
      async () => {
        await fill({ Email: email, Password: 'a wrong password' })
        await press('Sign in')
      },
      async () => {
        await change(
          `insert into memberships (id, organization_id, person_id, role, created_at)
           values (gen_random_uuid(), $2, $1, 'member', now())`,
          [personId, await newOrganization()],
        )
        await fill({ Password: password })
        await press('Sign in')
      },
      () => press('Continue as'),
      () => page.goto(`${accounts.test.url}/oidc/session/end`),
      () => press('Sign out'),
      () => page.goto(program.authorizeUrl(pkce().challenge, { redirect_uri: 'https://evil.example/' })),
      () => page.goto(`${accounts.test.url}/interaction/none`),
    )
    expect(faults).toEqual({})
  })

  it('those that install an app, with all that an app can ask for', async () => {
    await using visitor = await visit(true)
    const { page, fill, press } = visitor
    const { email, personId } = await newPerson()
    const { email: member } = await newPerson('member')
    const { authorizeUrl } = await app.ask(capabilities)
    const signIn = async (as: string) => {
      await visitor.context.clearCookies()
      await page.goto(authorizeUrl)
      await fill({ Email: as, Password: password })
      await press('Sign in')
    }
    const faults = await walk(
      visitor,
      () => page.goto(authorizeUrl),
      () => signIn(member),
      () => signIn(email),
      async () => {
        await change('update people set totp_secret = $2 where id = $1', [
          personId,
          accounts.masterKey.seal(randomBytes(20), `totp/${personId}`),
        ])
        await signIn(email)
      },
      async () => {
        await fill({ Code: 'abcdef' })
        await press('Continue')
      },
      () => press('Cancel'),
      () => page.goto(`${accounts.test.url}/install/none`),
    )
    expect(faults).toEqual({})
  })
})
