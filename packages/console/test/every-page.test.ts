import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Accounts, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { taskOf } from '@berth/testing/agents/tasks.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { buildDevelopmentPage } from '@berth/testing/console/development-page.ts'
import { dialogFaults, keyboardFaults } from '@berth/testing/console/keyboard.ts'
import { shoot, themeFaults } from '@berth/testing/console/page-checks.ts'
import { shootPhone, widthFaults } from '@berth/testing/console/phone.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { until } from '@berth/testing/until.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let at: Delivering
let visitor: Visitor
let page: Page
/** Every page: a name, and where it is. */
let pages: readonly (readonly [name: string, path: string])[]
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const network = new ScriptedNetwork()
  network.names.set('hooks.example.com', ['93.184.216.34'])
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  const { directory: consoleDirectory } = stack.use(await buildDevelopmentPage())
  accounts = stack.use(await startAccounts({ variables, config: { runtimes }, network, consoleDirectory }))
  const { test } = accounts
  at = await sessionOnRepository(test, 'sample/a-repository-with-a-long-name', { 'greet.ts': 'export const a = 1\n' })
  await at.shell("printf 'export const a = 2\\n' > greet.ts; printf '# Report\\n' > report.md; berth-present report.md")
  const published = await at.publish()
  const person = await personWithPassword(test.db.database, test.tenant.organizationId, { role: 'admin' })
  const { api } = await accounts.person({ role: 'admin' })
  pages = await makePages(api, published.result)
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${test.url}/sessions`, person)
}, 400_000)
afterAll(() => stack.disposeAsync())

/** Makes one of everything that a page can be about. */
async function makePages(api: Api, delivered: unknown): Promise<typeof pages> {
  const { test } = accounts
  const { organizationId, appSlug } = test.tenant
  const made = async (path: string, body: object) => {
    const answer = await api.call('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
    return answer.body
  }
  const of = (rest: string) => `/api/organizations/${organizationId}/${rest}`
  await made(`/api/apps/${appSlug}/keys`, { publicKeyPem: (await makeAppKey()).publicKeyPem })
  const capabilities = ['svc.cloud.access', 'svc.cloud.sessions:create']
  const draft = { name: 'Nightly builds of the web shop', product: appSlug, capabilities }
  const { id: integrationId, installationId } = Object((await made(of('integrations'), draft))['integration'])
  await made(of(`integrations/${integrationId}/keys`), { kind: 'cloud' })
  const triggerId = randomUUID()
  const trigger = { name: 'Nightly', message: 'Look after the dependencies', hook: { scheme: 'svc' } }
  await api.put(`/v1/triggers/${triggerId}`, { ...trigger, installationId })
  await made(of('invitations'), { email: 'somebody.with.a.long.address@example.test' })
  const webhooks = `/api/apps/${appSlug}/installations/${installationId}/webhooks`
  const { endpoint } = await made(webhooks, { url: 'https://hooks.example.com/a/rather/long/path', families: ['run'] })
  await api.call('POST', `${webhooks}/${Object(endpoint).id}/ping`)
  const environment = await new Environments(api).make({
    name: 'Node 24',
    setup: 'set -e\nnpm ci\n',
    variables: { CI: 'true' },
  })
  const asking = await api.createSession({ title: 'Clean up', runtime: 'scripted' }, taskOf('tidy'))
  const { session } = at
  const { number } = Object(Object(delivered).pullRequest)
  const { repositoryId } = Object(session.source)
  const one = `/sessions/${session.id}`
  const own = `/environments/${environment.id}`
  const within = (section: string) => `/organization/${section}`
  return [
    ['sessions', '/sessions'],
    ['sessions-archived', '/sessions?archived=true'],
    ['new-session', '/sessions/new'],
    ['session', one],
    ['approval', `/sessions/${asking.id}`],
    ...['changes', 'files', 'preview', 'artifacts', 'terminal', 'details'].map(
      panel => [`session-${panel}`, `${one}?panel=${panel}`] as const,
    ),
    ['review', `${one}/review`],
    ['compare', `${one}/compare/${asking.id}`],
    ['pull-requests', '/pull-requests?everyone=true'],
    ['pull', `/pulls/${repositoryId}/${number}`],
    ['environments', '/environments'],
    ['environment-new', '/environments/new'],
    ['environment-document', own],
    ...['secrets', 'trial', 'history'].map(tab => [`environment-${tab}`, `${own}?tab=${tab}`] as const),
    ['organization', '/organization'],
    ...['members', 'integrations', 'installations', 'apps', 'webhooks', 'triggers', 'usage', 'git', 'models'].map(
      section => [section, within(section)] as const,
    ),
    ...['limits', 'compute', 'audit', 'health'].map(section => [section, within(section)] as const),
    ['integration', within(`integrations/${integrationId}`)],
    ['app', within(`apps/${appSlug}`)],
    ['webhook', within(`webhooks/${appSlug}/${installationId}/${Object(endpoint).id}`)],
    ['trigger', within(`triggers/${installationId}/${triggerId}`)],
    ['settings', '/settings'],
    ['git-accounts', '/settings/git'],
    ...['profile', 'browsers', 'appearance', 'notifications', 'shortcuts', 'help'].map(
      section => [`settings-${section}`, `/settings/${section}`] as const,
    ),
  ]
}

/** Goes to a path as a link of the page does: a load of everything for each path would take most of the time. */
async function open(path: string): Promise<void> {
  await page.evaluate(`__TSR_ROUTER__.history.push(${JSON.stringify(path)})`)
  const isShown = `(({ state, history }) =>
    state.status === 'idle' && state.resolvedLocation?.href === history.location.href)(__TSR_ROUTER__)`
  await until(path, () => page.evaluate<boolean>(isShown))
  await page.locator('main h1').first().waitFor()
  await page.locator('.late').first().waitFor({ state: 'detached' })
}

type Faults = Record<string, string[]>

interface Walked {
  readonly keyboard: Faults
  readonly phone: Faults
  /** Of the light theme on a wide screen, and of the dark one on a phone. */
  readonly themes: Faults
}

/** Pages that no other test takes a picture of. */
const pictured: ReadonlySet<string> = new Set(['compute', 'triggers', 'trigger'])

/** Looks at every page on a wide screen, then on a phone; returns the faults by its name. */
async function walk(): Promise<Walked> {
  const [keyboard, phone, themes]: [Faults, Faults, Faults] = [{}, {}, {}]
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const [name, path] of pages) {
    await open(path)
    // The frame is the same around every page.
    keyboard[name] = await keyboardFaults(page, name === 'sessions' ? 'body' : 'main')
    themes[`${name}, light`] = await themeFaults(page)
    if (pictured.has(name)) await shoot(page, name)
  }
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.reload()
  for (const [name, path] of pages) {
    await open(path)
    phone[name] = await widthFaults(page)
    themes[`${name}, dark`] = await themeFaults(page)
    await shootPhone(page, name)
  }
  return { keyboard, phone, themes }
}

let walked: ReturnType<typeof walk> | null = null
/** All tests read one walk. */
const walkOnce = () => {
  walked ??= walk()
  return walked
}
const faulty = (faults: Faults) => Object.fromEntries(Object.entries(faults).filter(([, found]) => found.length > 0))

describe('every page', () => {
  it('is one of those that the console has', async () => {
    const source = await readFile(new URL('../src/routing/to.ts', import.meta.url), 'utf8')
    const patterns = [...source.matchAll(/to: '([^']+)'/g)].map(([, path = '']) => path)
    const isWalked = (pattern: string) => {
      const expression = new RegExp(`^${pattern.replaceAll(/\$\w+/g, '[^/]+')}$`)
      return pages.some(([, path]) => expression.test(path.replace(/\?.*/, '')))
    }
    expect(patterns.length).toBeGreaterThan(25)
    expect(patterns.filter(pattern => !isWalked(pattern))).toEqual([])
  })

  it('is used by the keyboard alone', { timeout: 600_000 }, async () => {
    expect(faulty((await walkOnce()).keyboard)).toEqual({})
  })

  it('fits a phone', { timeout: 600_000 }, async () => {
    expect(faulty((await walkOnce()).phone)).toEqual({})
  })

  it('can be read by everybody in both themes', { timeout: 600_000 }, async () => {
    expect(faulty((await walkOnce()).themes)).toEqual({})
  })

  it('gives neither React nor the policy of the page a reason to complain', async () => {
    await walkOnce()
    expect(visitor.complaints).toEqual([])
  })
})

describe('a dialog', () => {
  it.each([
    ['members', 'Invite'],
    ['integrations', 'New integration'],
    ['integration', 'New key'],
    ['apps', 'New app'],
    ['webhooks', 'New endpoint'],
  ] as const)('of %s keeps the focus while it is open, and gives it back', async (name, opener) => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await open(pages.find(([each]) => each === name)?.[1] ?? '')
    expect(await dialogFaults(page, opener)).toEqual([])
  })
})
