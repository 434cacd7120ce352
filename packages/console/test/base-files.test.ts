import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkspaceNode } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const before = `/** Greets somebody. */
export function greet(name: string): string {
  return \`Hello, \${name}!\`
}
`

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let at: Delivering
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  at = await sessionOnRepository(accounts.test, 'sample/based', {
    'greet.ts': before,
    'gone.txt': 'bye\n',
    line: 'x'.repeat(3_000_000),
    'odd näme': 'odd\n',
  })
  await writeFile(join(at.project, 'greet.ts'), before.replace('Hello', 'Good morning'))
  await writeFile(join(at.project, 'new.ts'), 'export {}\n')
  await rm(join(at.project, 'gone.txt'))
  api = (await accounts.person({})).api
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  visitor = await openVisitor(stack)
  page = visitor.page
  const shown = `${accounts.test.url}/sessions/${at.session.id}?panel=files&file=project/greet.ts`
  await openSignedIn(page, shown, person)
})
afterAll(() => stack.disposeAsync())

const pathOf = (rest: string, path: string) =>
  `/cloud/sessions/${at.session.id}/files${rest}?${new URLSearchParams({ path, at: 'base' })}`
const readBase = (path: string, by = api) => by.get<{ node: WorkspaceNode }>(pathOf('', path))
const read = (path: string, offset = 0) => api.get(`${pathOf('/content', path)}&offset=${offset}`)
const namesIn = ({ body: { node } }: Awaited<ReturnType<typeof readBase>>) =>
  (node.entries ?? []).map(({ name }) => name)

describe('the files at the base of a Session', () => {
  it('are the repository’s at the commit where it began', async () => {
    const root = await readBase('')
    expect(root.body.node).toMatchObject({ view: { at: 'base', commit: at.session.source?.baseOid }, more: false })
    expect(namesIn(root)).toEqual(['project'])
    const project = await readBase('/workspace/project')
    expect(namesIn(project)).toEqual(expect.arrayContaining(['greet.ts', 'gone.txt', 'line', 'odd näme']))
    expect(namesIn(await readBase('project/lib'))).toEqual(['words.txt'])
    const link = project.body.node.entries?.find(({ name }) => name === 'words')
    expect(link).toMatchObject({ kind: 'link', target: 'lib/words.txt' })
    expect((await read('project/words')).text).toBe((await read('project/lib/words.txt')).text)
    expect((await read('project/greet.ts')).text).toBe(before)
    expect((await read('project/odd näme')).text).toBe('odd\n')
    const end = await read('project/line', 2_999_990)
    expect([end.text, end.headers.get('x-svc-file-bytes')]).toEqual(['x'.repeat(10), '3000000'])
    expect((await read('project/line', 100)).text.length).toBe(1024 ** 2)
  })

  it.each([
    ['project/new.ts', '404 workspace_file_not_found'],
    ['project/greet.ts/x', '404 workspace_file_not_found'],
    ['elsewhere', '404 workspace_file_not_found'],
    ['project/../../etc/passwd', '404 workspace_file_not_found'],
    ['/etc/passwd', '404 workspace_file_not_found'],
  ])('are nothing beside it: %s', async (path, expected) => {
    expect(outcome(await readBase(path))).toBe(expected)
  })

  it('are seen by nobody else, and need a repository', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    expect(outcome(await readBase('project', stranger.api))).toBe('404 cloud_session_not_found')
    const without = await api.createSession()
    expect(outcome(await api.get(`/cloud/sessions/${without.id}/files?at=base`))).toBe('409 cloud_repository_required')
  })
})

const state = (name: string) => page.getByRole('navigation', { name: 'State of the files' }).getByRole('link', { name })
const file = (name: string) => page.getByRole('region', { name, exact: true })

describe('the panel of files', () => {
  it('shows a file as it was beside the present one', async () => {
    await file('project/greet.ts').getByText('Good morning').waitFor()
    await state('Both').click()
    await file('project/greet.ts when the Session began').getByText('Hello').waitFor()
    await file('project/greet.ts').getByText('Good morning').waitFor()
    await shoot(page, 'files-both')
    expect(await pageFaults(page)).toEqual([])
    expect(
      await page
        .locator('nav [aria-current]')
        .filter({ hasText: /^(?:Now|At the start|Both)$/ })
        .allInnerTexts(),
    ).toEqual(['Both'])
    await page.getByRole('treeitem', { name: 'new.ts' }).click()
    await page.getByText('It was not there when the Session began.').waitFor()
  })

  it('shows the tree as it was', async () => {
    await state('At the start').click()
    await page.getByRole('treeitem', { name: 'gone.txt' }).click()
    await file('project/gone.txt when the Session began').getByText('bye').waitFor()
    expect(await page.getByRole('treeitem', { name: 'new.ts' }).count()).toBe(0)
    await shoot(page, 'files-base')
    expect(await pageFaults(page)).toEqual([])
    await state('Now').click()
    await page.getByText('No such file').waitFor()
    await page.getByRole('treeitem', { name: 'gone.txt' }).waitFor({ state: 'detached' })
  })

  it('needs neither a sandbox nor a lease for it, but the grant', async () => {
    expect((await api.call('DELETE', `/v1/sessions/${at.session.id}/workspace`)).status).toBeLessThan(300)
    expect((await read('project/gone.txt')).text).toBe('bye\n')
    const { rows } = await accounts.test.db.database.query(
      'select 1 from leases where session_id = $1 and ended_at is null',
      [at.session.id],
    )
    expect(rows).toEqual([])
    await accounts.test.db.database.query('update repository_grants set revoked_at = now()')
    expect(outcome(await readBase('project'))).toBe('403 cloud_repository_grant_required')
    expect(visitor.complaints).toEqual([])
  })
})
