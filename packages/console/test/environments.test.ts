import type { Environment } from '@berth/contract'
import { startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf } from '@berth/testing/environments/zip.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let visitor: Visitor
let page: Page
let origin: string
/** A colleague, who uses a terminal. */
let colleague: Environments
beforeAll(async () => {
  const accounts = stack.use(
    await startAccounts({ config: { extensions: { catalog: [{ slug: 'gone', path: '/nowhere/gone.zip' }] } } }),
  )
  origin = accounts.test.url
  const { organizationId } = accounts.test.tenant
  const person = await personWithPassword(accounts.test.db.database, organizationId, { role: 'admin' })
  colleague = new Environments((await accounts.person({})).api)
  visitor = await openVisitor(stack)
  page = visitor.page
  page.on('dialog', dialog => void dialog.accept())
  await openSignedIn(page, `${origin}/environments`, person)
  await page.getByRole('heading', { name: 'No environments yet' }).waitFor()
})
afterAll(() => stack.disposeAsync())

const saved = async (): Promise<Environment> => {
  const { body } = await colleague.list('?archived=true')
  const [environment] = body.environments.filter(({ name }) => name === 'Node 24')
  if (environment === undefined) throw new Error('there is no such environment')
  return environment
}
const tab = (name: string) => page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name }).click()
const setup = () => page.getByRole('textbox', { name: 'Setup script' })
const field = (label: string) => page.getByLabel(label, { exact: true })
const shows = (text: string) => page.getByText(text).first().waitFor()
const save = () => page.getByRole('button', { name: 'Save' }).click()

describe('a person who writes environments in a browser', () => {
  oneWay()
  it('learns what they are for', async () => {
    await shoot(page, 'environments-empty')
    expect(await pageFaults(page)).toEqual([])
  })

  it('creates one in a form that says what is wrong while they type', async () => {
    await page.getByRole('link', { name: 'Write the first environment' }).click()
    await shows('Extensions of the catalog are missing: gone (unavailable).')
    await field('Name').fill('Node 24')
    await page.getByRole('button', { name: 'Add a variable' }).click()
    await field('Name of variable 1').fill('1CI')
    await shows('Needs letters, digits and _')
    expect(await pageFaults(page)).toEqual([])
    await field('Name of variable 1').fill('BERTH_CI')
    await field('Value of BERTH_CI').fill('true')
    await setup().fill('set -e\nnpm ci\n')
    await page.getByRole('button', { name: 'Create' }).click()
    // Only the service knows this rule; its word stands at the field until that is changed.
    await shows('Begins with BERTH_')
    await field('Name of variable 1').fill('CI')
    await page.getByText('Begins with BERTH_').first().waitFor({ state: 'detached' })
    await shoot(page, 'environment-new')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'Node 24' }).waitFor()
    const { document } = await saved()
    expect([document.setup, document.variables]).toEqual(['set -e\nnpm ci\n', { CI: 'true' }])
  })

  it('finds unsaved edits again after a reload, and is asked before leaving them', async () => {
    await field('Description').fill('For the web shop')
    await shows('this tab keeps your edits')
    await page.reload()
    expect(await field('Description').inputValue()).toBe('For the web shop')
    await page.getByRole('link', { name: 'Environments' }).first().click()
    await page.getByRole('dialog', { name: 'Leave with unsaved edits?' }).waitFor()
    await shoot(page, 'environment-leave')
    await page.getByRole('button', { name: 'Go on editing' }).click()
    await save()
    await shows('Revision 2, saved')
    expect((await saved()).document.description).toBe('For the web shop')
  })

  it('edits every list of the document, and gets its warnings', async () => {
    await field('Give sandboxes access to GitHub').check()
    await page.getByRole('button', { name: 'Add a repository' }).click()
    await field('Repository 1').fill('acme')
    await shows('is a repository as')
    await field('Repository 1').fill('acme/tools')
    await field('Branch of acme/tools').fill('main')
    await page.getByRole('button', { name: 'Add a path' }).click()
    await field('Cache path 1').fill('~/.npm')
    await page.getByRole('button', { name: 'Add a variable' }).click()
    await field('Name of variable 2').fill('API_KEY')
    await field('Value of API_KEY').fill('abcdefgh')
    await field('Packed extension').setInputFiles({
      name: 'tools.zip',
      mimeType: 'application/zip',
      buffer: extensionOf({ name: 'Tools' }),
    })
    await shows('Uploaded here')
    await field('Keep what setup makes').check()
    await page.getByRole('textbox', { name: 'System packages' }).fill('jq JQ')
    await shows('is the name of a Debian package')
    await page.getByRole('textbox', { name: 'System packages' }).fill('jq, tree')
    await field('Hosts that sandboxes reach').selectOption('listed')
    await page.getByRole('textbox', { name: 'Hosts by name' }).fill('registry.npmjs.org 10.0.0.1')
    await shows('“10.0.0.1” is no name such as api.example.com')
    await page.getByRole('textbox', { name: 'Hosts by name' }).fill('registry.npmjs.org, *.example.com')
    await save()
    await shows('looks like a credential')
    await shows('Revision 3, saved')
    const { document } = await saved()
    expect(document).toMatchObject({
      variables: { CI: 'true', API_KEY: 'abcdefgh' },
      github: true,
      prebuild: true,
      packages: ['jq', 'tree'],
      repositories: [{ repository: 'acme/tools', branch: 'main', path: 'tools' }],
      cache: { paths: ['~/.npm'] },
      network: { mode: 'listed', hosts: ['registry.npmjs.org', '*.example.com'] },
      extensions: [{ archive: expect.stringMatching(/^sha256:/) }],
    })
    await shoot(page, 'environment-document')
    expect(await pageFaults(page)).toEqual([])
  })

  it('edits it as JSON, with the same rules', async () => {
    await page.getByRole('button', { name: 'JSON' }).click()
    const json = page.getByRole('textbox', { name: 'Document as JSON' })
    await json.fill('{ "name": "Node 24", "sets": 1 }')
    await shows('Sets is no member of an environment')
    await json.fill('{ "name": "Node 24"')
    await shows('This is no JSON object.')
    await shoot(page, 'environment-json')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Discard edits' }).click()
    await page.getByRole('button', { name: 'Form' }).click()
    await shows('Revision 3, saved')
  })

  it('compares with what somebody saved meanwhile, and goes on from there', async () => {
    const before = await saved()
    const { secrets: _, ...document } = before.document
    await setup().fill('set -e\nnpm ci\nnpm run build\n')
    await field('Description').fill('Mine')
    const theirs = { ...document, description: 'Theirs', variables: { ...document.variables, TZ: 'UTC' } }
    await colleague.put(before.id, theirs, before.revision)
    await save()
    await page.getByRole('heading', { name: /saved revision 4 meanwhile/ }).waitFor()
    await field('Which change of Description to keep').selectOption('mine')
    await page.getByRole('region', { name: /Change of Description, your edits/ }).waitFor()
    await shoot(page, 'environment-meanwhile')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Go on from revision 4' }).click()
    await save()
    await shows('Revision 5, saved')
    const after = (await saved()).document
    expect([after.description, after.setup, after.variables['TZ']]).toEqual([
      'Mine',
      'set -e\nnpm ci\nnpm run build\n',
      'UTC',
    ])
  })

  it('sets, replaces and removes a secret, and never sees its value again', async () => {
    await tab('Secrets')
    await page.getByRole('heading', { name: 'No secrets yet' }).waitFor()
    await field('Name').fill('NPM TOKEN')
    await shows('Needs letters, digits and _, at most 128')
    await field('Name').fill('CI')
    await field('Value').fill('first-value-of-it')
    await page.getByRole('button', { name: 'Set the secret' }).click()
    await shows('is a variable of the document')
    await field('Name').fill('NPM_TOKEN')
    await page.getByRole('button', { name: 'Set the secret' }).click()
    await shows('Version 1')
    await page.getByRole('button', { name: 'Replace NPM_TOKEN' }).click()
    await page.getByRole('dialog').getByLabel('Value').fill('second-value-of-it')
    await shoot(page, 'environment-secrets')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Replace the value' }).click()
    await shows('Version 2')
    expect(await page.content()).not.toMatch(/(?:first|second)-value-of-it/)
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('value-of-it')
    expect((await saved()).secrets).toEqual([{ name: 'NPM_TOKEN', version: 2, exposure: 'variable' }])
    await page.getByRole('button', { name: 'Remove NPM_TOKEN' }).click()
    await page.getByRole('button', { name: 'Remove the secret' }).click()
    await page.getByRole('heading', { name: 'No secrets yet' }).waitFor()
    expect((await saved()).secrets).toEqual([])
  })

  it('keeps a secret at the edge, and changes where it goes without its value', async () => {
    await field('Name').fill('STRIPE_API_KEY')
    await field('Value').fill('third-value-of-it')
    await page.getByRole('button', { name: 'Keep it at the edge' }).click()
    expect(await field('Hosts').inputValue()).toBe('api.stripe.com')
    await field('Hosts').fill('API.stripe.com')
    await shows('in lower case')
    await field('Hosts').fill('api.stripe.com files.stripe.com')
    await field('Its content').fill('Bearer')
    await shows('Holds {value} exactly once')
    await field('Its content').fill('')
    await shoot(page, 'environment-secret-at-the-edge')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Set the secret' }).click()
    await shows('At the edge: api.stripe.com, files.stripe.com get it in the header Authorization')
    await shows('1 secret, for api.stripe.com, files.stripe.com')
    const [pin] = (await saved()).secrets
    expect(pin).toMatchObject({ version: 1, exposure: 'egress', egress: { put: { format: 'Bearer {value}' } } })
    await page.getByRole('button', { name: 'Replace STRIPE_API_KEY' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Hosts', { exact: true }).fill('api.stripe.com collect.example.org')
    await dialog.getByRole('button', { name: 'Change how it is used' }).click()
    await dialog.getByText('could not go before').waitFor()
    await dialog.getByLabel('Hosts', { exact: true }).fill('api.stripe.com')
    await dialog.getByLabel('Only below these paths').fill('/v1')
    await shoot(page, 'environment-secret-change')
    await dialog.getByRole('button', { name: 'Change how it is used' }).click()
    await shows('At the edge: api.stripe.com gets it in the header Authorization; below /v1')
    expect(await page.content()).not.toContain('third-value-of-it')
    await page.getByRole('button', { name: 'Remove STRIPE_API_KEY' }).click()
    await page.getByRole('button', { name: 'Remove the secret' }).click()
    await page.getByRole('heading', { name: 'No secrets yet' }).waitFor()
  })

  it('compares any two revisions, and restores one', async () => {
    await tab('History')
    await page.getByRole('button', { name: /Revision 1 / }).waitFor()
    await field('From revision').selectOption('1')
    await field('To revision').selectOption('4')
    await page.getByRole('region', { name: 'Change of Variables', exact: true }).waitFor()
    await shoot(page, 'environment-history')
    expect(await pageFaults(page)).toEqual([])
    await field('To revision').selectOption('1')
    await page.getByRole('button', { name: 'Restore revision 1' }).click()
    await page.getByRole('button', { name: /Revision 12 / }).waitFor()
    const restored = await saved()
    expect([restored.revision, restored.document.variables]).toEqual([12, { CI: 'true' }])
  })

  it('makes it the default, which cannot be archived, and archives it once it is not', async () => {
    await page.getByRole('button', { name: 'Make default' }).click()
    await page.getByText('Default', { exact: true }).waitFor()
    const archive = page.getByRole('button', { name: 'Archive', exact: true })
    await page.getByText('This is the default of your organization').waitFor({ state: 'attached' })
    expect(await archive.getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: 'No longer default' }).click()
    await page.getByRole('button', { name: 'Make default' }).waitFor()
    await archive.click()
    await page.getByRole('button', { name: 'Unarchive' }).waitFor()
    expect((await saved()).archivedAt).not.toBeNull()
    await tab('Document')
    expect(await field('Description').getAttribute('readonly')).not.toBeNull()
    await page.getByRole('link', { name: 'Environments' }).first().click()
    await page.getByRole('heading', { name: 'No environments yet' }).waitFor()
    await page.getByRole('link', { name: 'Archived' }).click()
    await page.locator('[data-list-item]').filter({ hasText: 'Node 24' }).waitFor()
    await shoot(page, 'environments-archived')
    expect(await pageFaults(page)).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
