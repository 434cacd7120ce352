import { readFile } from 'node:fs/promises'
import type { Session } from '@berth/contract'
import { startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { endedRun } from '@berth/testing/runs/ended-run.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const script = `
mkdir -p src/pages docs; cat > src/login.ts <<'END'
import { ready } from './ready.ts'

/** Signs a person in, once the page is ready. */
export async function signIn(name: string, tries = 3): Promise<boolean> {
  for (let at = 0; at < tries; at++) {
    await ready({ timeoutMs: 50 * at })
    if (name !== '') return true // found
  }
  return false
}
END
printf 'export const admin = false \\342\\200\\256 // \\342\\201\\246check\\342\\201\\251\\n' > src/trick.ts
printf '\\033[31mred\\033[0m \\033]0;owned\\007 plain\\n' > src/ansi.log
printf '<script>document.title="owned"</script><img src=https://evil.example/p.gif onerror=alert(1)>\\n' > docs/page.html
printf '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><rect width="120" height="80" fill="teal"/><script>top.document.title="owned"</script><image href="https://evil.example/i.png"/></svg>' > docs/drawing.svg
printf '%s' '${png}' | base64 -d > docs/dot.png
head -c 4000000 /dev/zero | tr '\\0' x > line; printf '\\nend\\n' >> line
seq 1 100000 > lines; printf 'a\\0b' > tool.bin; : > empty; ln -s /etc/passwd out; mkfifo pipe
printf '# Read me\\n' > README.md
echo '\`src/login.ts:4\` is where it waits'
`

const stack = new AsyncDisposableStack()
let visitor: Visitor
let page: Page
let origin: string
let session: Session
beforeAll(async () => {
  const accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  origin = accounts.test.url
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  const api: Api = (await accounts.person({})).api
  session = await api.createSession({ title: 'Mend the flaky sign-in', runtime: 'shell' }, script)
  await endedRun(api, session, String(session.activeRunId))
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${origin}/sessions/${session.id}?panel=files`, person)
  await item('README.md').waitFor()
})
afterAll(() => stack.disposeAsync())

const item = (name: string) => page.getByRole('treeitem', { name, exact: true })
const lines = () => page.locator('[data-line]')
const line = (number: number) => page.locator(`[data-line="${number}"]`)
const shown = () => new URL(page.url()).searchParams

describe('the files of a Session', () => {
  it('are walked by the keyboard alone', async () => {
    await page.getByRole('tree').focus()
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    await item('login.ts').waitFor()
    await page.keyboard.press('End')
    await page.keyboard.press('Home')
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key)
    for (let at = 0; at < 9 && !(await item('login.ts').getAttribute('class'))?.includes('group-focus'); at++) {
      await page.keyboard.press('ArrowDown')
    }
    await page.keyboard.press('Enter')
    await page.getByText('Promise').first().waitFor()
    expect(shown().get('file')).toBe('src/login.ts')
    await page.locator('.tok-keyword').first().waitFor()
    await shoot(page, 'files')
    expect(await pageFaults(page)).toEqual([])
  })

  it('open at the line that somebody points at', async () => {
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=lines&line=70000`)
    await line(70_000).waitFor()
    expect(await line(70_000).innerText()).toMatch(/70000\s*70000/)
    expect(await line(70_000).evaluate(row => row.getBoundingClientRect().top)).toBeLessThan(700)
    // Of a hundred thousand lines only those in view are in the page.
    expect(await lines().count()).toBeLessThan(200)
    await page.getByRole('button', { name: 'Point at line 70002' }).click()
    await page.waitForURL(/line=70002/)
  })

  it('show what nobody would see, and nothing of it acts', async () => {
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=src/trick.ts`)
    await page.getByText('3 invisible characters').waitFor()
    expect(await line(1).innerText()).toContain('⟨U+202E⟩')
    await shoot(page, 'files-invisible')
    expect(await pageFaults(page)).toEqual([])
    await item('ansi.log').click()
    await page.getByText('4 invisible characters').waitFor()
    expect(await line(1).innerText()).toContain('␛[31mred')
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=docs/page.html`)
    await page.getByText('<script>').waitFor()
    expect(await page.title()).toMatch(/^Mend the flaky/)
    expect(visitor.complaints).toEqual([])
  })

  it('show pictures as pictures, without what is in them', async () => {
    await item('drawing.svg').click()
    await page.getByText('120 × 80').waitFor()
    expect(await page.title()).toMatch(/^Mend the flaky/)
    await shoot(page, 'files-picture')
    expect(await pageFaults(page)).toEqual([])
    await item('dot.png').click()
    await page.getByText('1 × 1', { exact: true }).waitFor()
  })

  it('are not opened unasked if they are large, and a line of 4 MB does not stop the page', async () => {
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=line`)
    await page.getByRole('button', { name: /Show it/ }).click()
    await page.getByText('3,998,000 more characters').waitFor()
    await line(2).waitFor()
    expect(await line(2).innerText()).toContain('end')
    await page.getByRole('button', { name: 'Wrap long lines' }).click()
    await page.locator('[aria-pressed=true]').waitFor()
    // The page is as fast as it draws little.
    expect((await line(1).innerText()).length).toBeLessThan(10_000)
  })

  it.each([
    ['tool.bin', 'This file is no text.'],
    ['empty', 'This file is empty.'],
    ['src', 'This is a folder.'],
    ['out', 'No such file'],
    ['pipe', 'This is no file'],
    ['../../etc/passwd', 'No such file'],
  ])('say why there is nothing to read: %s', async (file, text) => {
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=${encodeURIComponent(file)}`)
    await page.getByText(text).waitFor()
  })

  it('are downloaded whole, byte for byte', async () => {
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=line`)
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const download = await saving
    expect(download.suggestedFilename()).toBe('line')
    expect((await readFile(await download.path())).length).toBe(4_000_005)
  })

  it('come from the last checkpoint when the sandbox has gone, and the page says so', async () => {
    await page.evaluate(
      async ([id]) => {
        const session = await fetch('/cloud/auth/session')
        const { memberships } = (await session.json()) as { memberships: { organization: { id: string } }[] }
        const headers = { 'X-Svc-Organization': memberships[0]?.organization.id ?? '' }
        await fetch(`/cloud/v1/sessions/${id}/workspace`, { method: 'DELETE', headers })
      },
      [session.id],
    )
    await page.goto(`${origin}/sessions/${session.id}?panel=files&file=src/login.ts`)
    await page.getByText('there is no sandbox now').waitFor()
    await page.getByText('Promise').first().waitFor()
    await shoot(page, 'files-sealed')
    expect(await pageFaults(page)).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
