import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { shootPhone, widthFaults } from '@berth/testing/console/phone.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { AskingHosts, fetchFrom } from '@berth/testing/environments/asking-hosts.ts'
import { npmRegistry, packThing } from '@berth/testing/environments/played-services.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let hosts: AskingHosts
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway' } }))
  hosts = stack.use(await AskingHosts.open(accounts.test))
  await hosts.startWorker(stack)
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  const visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions`, person)
})
afterAll(() => stack.disposeAsync())

const open = (id: string) => page.goto(`${accounts.test.url}/sessions/${id}`)
const ask = { mode: 'ask', hosts: [] }

test('a program waits at a phone while a person allows its host for the environment', async () => {
  const session = await hosts.session(ask, fetchFrom('registry.example.org', '-A npm/10.9'), { name: 'Web shop' })
  await hosts.onlyOpen(session)
  await page.setViewportSize({ width: 390, height: 844 })
  await open(session.id)
  await page.getByText('Allow this connection?').waitFor()
  await page.getByText('npm wants to reach registry.example.org:80').first().waitFor()
  await page.getByText('Connects a program in the sandbox to registry.example.org:80.').waitFor()
  expect(await widthFaults(page)).toEqual([])
  await shootPhone(page, 'asked-host')
  await page.getByRole('button', { name: 'For the environment' }).click()
  expect((await hosts.ended(session)).output).toBe('reached registry.example.org\n')
  await page.getByText('allowed for the environment').waitFor()
})

test('npm install waits at a phone, and goes on once a person allows its registry', async () => {
  const root = await mkdtemp(join(tmpdir(), 'berth-registry-'))
  stack.defer(() => rm(root, { recursive: true }))
  const origin = 'http://npm.example.org'
  hosts.listeners.set(
    'npm.example.org',
    npmRegistry(origin, () => true, await packThing(root)),
  )
  const install = `npm install thing --registry=${origin}/ --no-audit --no-fund 2>&1`
  const script = `mkdir -p shop && cd shop && ${install}; node -p 'require("thing")'`
  const session = await hosts.session(ask, script, { name: 'Toy shop' })
  await hosts.onlyOpen(session)
  await page.setViewportSize({ width: 390, height: 844 })
  await open(session.id)
  await page.getByText('npm wants to reach npm.example.org:80').first().waitFor()
  expect(hosts.served).not.toContain('npm.example.org')
  expect(await widthFaults(page)).toEqual([])
  await shootPhone(page, 'npm-waits')
  await page.getByRole('button', { name: 'Allow once' }).click()
  expect((await hosts.ended(session)).output).toMatch(/added 1 package[\s\S]*a thing\n$/)
  await page.getByText('added 1 package').first().waitFor()
  await shootPhone(page, 'npm-installed')
})

test('a blocked host is shown where it happened, once, and a button allows it', async () => {
  const again = fetchFrom('blocked.example.org')
  const session = await hosts.session(ask, `${again}; ${again}; ${again}`, { name: 'Blocked' })
  await hosts.decide(session, await hosts.onlyOpen(session), 'deny')
  await hosts.ended(session)
  await open(session.id)
  await page.getByText(/^blocked: blocked\.example\.org \(3 times\)$/).waitFor()
  await shoot(page, 'blocked-host')
  await shootPhone(page, 'blocked-host')
  expect(await pageFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Allow blocked.example.org' }).click()
  await page.getByText('Allowed for the environment').waitFor()
  const next = await hosts.api.submitTurn(session.id, again)
  expect((await hosts.ended(session, next.run.id)).output).toBe('reached blocked.example.org\n')
})

test('the details of a Session list the hosts of its sandbox', async () => {
  const session = await hosts.session(
    { mode: 'listed', hosts: ['named.example.org'] },
    `${fetchFrom('named.example.org')}; ${fetchFrom('other.example.org')}`,
    { name: 'Listed' },
  )
  await hosts.ended(session)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(`${accounts.test.url}/sessions/${session.id}?panel=details`)
  const table = page.getByRole('table', { name: 'Hosts of the sandbox' })
  await table.getByText('named.example.org').waitFor()
  await table.getByText('other.example.org').waitFor()
  await shoot(page, 'session-hosts')
  expect(await pageFaults(page)).toEqual([])
})

test('whoever writes the environment takes an allowed host into the document, or removes it', async () => {
  const environment = await hosts.environments.make({ name: 'Proposals', network: ask })
  const session = await hosts.sessionOf(environment.id, 'echo done')
  await hosts.ended(session)
  for (const name of ['one', 'two']) {
    await hosts.api.put(`/v1/sessions/${session.id}/egress/hosts/${name}.example.org`, undefined)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${accounts.test.url}/environments/${environment.id}`)
  await page.getByRole('heading', { name: 'Hosts that were allowed' }).waitFor()
  await shoot(page, 'proposed-hosts')
  expect(await pageFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Remove two.example.org' }).click()
  await page.getByText('two.example.org').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Add one.example.org to the document' }).click()
  await page.getByRole('heading', { name: 'Hosts that were allowed' }).waitFor({ state: 'detached' })
  const { document, proposedHosts } = (await hosts.environments.read(environment.id)).body.environment
  expect([document.network.hosts, proposedHosts]).toEqual([['one.example.org'], []])
})
