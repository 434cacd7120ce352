import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { commitTo } from '@berth/testing/git/repositories.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
let visitor: Visitor
let page: Page
let at: Delivering
let person: { readonly email: string }
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  at = await sessionOnRepository(accounts.test, 'sample/reviewed', {
    'greet.ts': before,
    'old-name.py': 'def f():\n    return 1\n',
    'gone.txt': 'bye\n',
    'tool.sh': '#!/bin/sh\necho "$1"\n',
    Makefile: 'test:\n\ttrue\n',
    'package.json': '{ "scripts": { "lint": "biome check" } }\n',
  })
  person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  await change()
  browser = await launchChromium()
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions/${at.session.id}?panel=changes`, person)
  await lines().waitFor()
})
afterAll(() => stack.disposeAsync())

const before = `import { readFileSync } from 'node:fs'

/** Greets somebody. */
export function greet(name: string): string {
  return \`Hello, \${name}!\`
}
${Array.from({ length: 60 }, (_, line) => `\nexport const value${line} = ${line} // the ${line}th`).join('')}

export function read(path: string) {
  return readFileSync(path, 'utf8')
}
`
const after = before
  .replace('Hello,', 'Good morning,')
  .replace('value30 = 30', 'value30 = 31')
  .replace("'utf8')", "'utf8').trim()")

/** Changes of every kind, some of them hostile. */
async function change(): Promise<void> {
  await mkdir(join(at.project, 'src/deep/down'), { recursive: true })
  const write = (name: string, content: string | Uint8Array) => writeFile(join(at.project, name), content)
  await write('greet.ts', after)
  await rename(join(at.project, 'old-name.py'), join(at.project, 'src/deep/down/new-name.py'))
  await rm(join(at.project, 'gone.txt'))
  await chmod(join(at.project, 'tool.sh'), 0o755)
  await symlink('greet.ts', join(at.project, 'src/link'))
  await write('src/card.html', '<script>document.title = "owned"</script>\n<img src=x onerror=alert(1)>\n')
  await write('src/card.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>\n')
  await write('src/bidi.js', 'if (admin\u202e /* ) */ true\u2066) {}\n')
  await write('src/picture.bin', Buffer.from([0, 1, 2, 3]))
}

const lines = () => page.getByRole('region', { name: 'Changed lines' })
const viewed = (path: string) => page.getByRole('checkbox', { name: `Viewed ${path}` }).first()

describe('the changes of a Session', () => {
  it('are shown beside the transcript, coloured, as text alone', async () => {
    await lines().getByText('onerror').waitFor()
    await lines().locator('.syntax-keyword').first().waitFor()
    expect(await page.title()).not.toContain('owned')
    expect(await lines().locator('img, script, svg svg').count()).toBe(0)
    await shoot(page, 'changes')
    expect(await pageFaults(page)).toEqual([])
  })

  it('show what lies between, as far as somebody asks', async () => {
    expect(await lines().getByText('value10 = 10').count()).toBe(0)
    await lines()
      .getByRole('button', { name: /Show \d+ lines/ })
      .first()
      .click()
    await lines().getByText('value10 = 10').waitFor()
    expect(await lines().getByText('value40 = 40').count()).toBe(0)
  })

  it('are ticked off file by file, and stay so after a reload', async () => {
    await lines().getByText('Good morning').waitFor()
    await viewed('greet.ts').check({ force: true })
    await page.getByText('1 of 9 viewed').waitFor()
    await lines().getByText('Good morning').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('1 of 9 viewed').waitFor()
    // On another device, too, where the mark comes off while it is looked at.
    await using phone = await newVisitor(browser, { scripts: true })
    await openSignedIn(phone.page, page.url(), person)
    await phone.page.getByText('1 of 9 viewed').waitFor()
    await viewed('greet.ts').uncheck({ force: true })
    await phone.page.getByText('0 of 9 viewed').waitFor()
    await phone.page.getByRole('checkbox', { name: 'Viewed greet.ts' }).first().check({ force: true })
    await page.getByText('1 of 9 viewed').waitFor()
    expect(phone.complaints).toEqual([])
    // Another content asks to be looked at again.
    await writeFile(join(at.project, 'greet.ts'), after.replace('Good morning', 'Good evening'))
    await page.reload()
    await page.getByText('0 of 9 viewed').waitFor()
    await lines().getByText('Good evening').waitFor()
  })

  it('collect comments on lines, which go to the agent as one message', async () => {
    await lines().getByRole('button', { name: 'Comment on line 5', exact: true }).first().click({ force: true })
    await page.getByLabel('Comment on line 5 of greet.ts').fill('Say it in French.')
    await page.reload()
    await page.getByText('Say it in French.').waitFor()
    // By keyboard alone: the line below the one at the top of the view.
    await lines().focus()
    for (let step = 0; step < 3; step++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByPlaceholder('What should change here?').fill('exit 0')
    await page.keyboard.press('Control+Enter')
    await page.getByText('2 comments').waitFor()
    await shoot(page, 'changes-remarks')
    expect(await pageFaults(page)).toEqual([])
    // The line moves, and the comment with it.
    const moved = after.replace('Good morning', 'Good evening').replace('/** Greets', '// A new line\n/** Greets')
    await writeFile(join(at.project, 'greet.ts'), moved)
    await page.reload()
    await page.getByText('This line was line 5 when you wrote').waitFor()
    await page.getByRole('button', { name: 'Send to the agent' }).click()
    await page.getByText('2 comments').waitFor({ state: 'detached' })
    const sent = page.getByRole('log').getByText('Say it in French.')
    await sent.waitFor()
    expect(await page.getByRole('log').textContent()).toContain('`greet.ts`, line 6, which was line 5:')
  })

  it('have a page of their own, in two columns with the tree of files', async () => {
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    await page.setViewportSize({ width: 1280, height: 800 })
    await lines().getByText('Hello').waitFor()
    await page
      .getByRole('navigation', { name: 'Changed files' })
      .getByRole('button', { name: /card.svg/ })
      .click()
    await lines().getByText('onload').waitFor()
    for (const key of ['n', 'p', 'p', 'v']) await page.keyboard.press(key)
    await page.getByText('1 of 9 viewed').waitFor()
    expect(await viewed('src/card.html').isChecked()).toBe(true)
    await page
      .getByRole('navigation', { name: 'Changed files' })
      .getByRole('button', { name: /greet.ts/ })
      .click()
    await shoot(page, 'review')
    const tree = page.getByRole('navigation', { name: 'Changed files' })
    await tree.getByRole('button', { name: /link/ }).click()
    await lines().getByText('→ greet.ts').waitFor()
    await tree.getByRole('button', { name: /tool.sh/ }).click()
    await lines().getByText('mode 100644 → 100755').waitFor()
    expect(await pageFaults(page)).toEqual([])
  })

  it('name what must not be missed: each leads to its line, and is seen until another content brings it again', async () => {
    // Comments came first; whoever begins without the name of a file leaves the choice to the agent.
    await accounts.test.db.database.query("update turns set message = 'Greet' where session_id = $1", [at.session.id])
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    const signals = page.getByRole('region', { name: 'Signals' })
    await signals.getByText('4 not seen').waitFor()
    expect(await signals.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^Hidden characters\s+src\/bidi.js:1/),
      expect.stringMatching(/^Permissions changed\s+tool.sh 100644 → 100755/),
      expect.stringMatching(/^Symbolic link\s+src\/link → greet.ts/),
      expect.stringMatching(/^Binary file\s+src\/picture.bin/),
    ])
    // The file is folded, and its lines are drawn again.
    await viewed('src/bidi.js').check({ force: true })
    await lines().getByText('admin').waitFor({ state: 'detached' })
    await signals.getByRole('button', { name: 'src/bidi.js:1' }).click()
    await lines().locator('.outline-accent', { hasText: 'admin' }).waitFor()
    await shoot(page, 'review-signals')
    await signals.getByLabel('Seen: Hidden characters, src/bidi.js').click()
    await signals.getByText('3 not seen').waitFor()
    expect(await pageFaults(page)).toEqual([])
    await writeFile(join(at.project, 'src/bidi.js'), 'if (admin\u202e /* ) */ true\u2066) { }\n')
    await writeFile(join(at.project, 'src/card.svg'), '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(2)"/>\n')
    await page.reload()
    await lines().getByText('alert(2)').waitFor()
    await signals.getByText('4 not seen').waitFor()
    for (const box of await signals.getByRole('checkbox').all()) await box.click()
    await signals.getByText('all seen').waitFor()
    await page.reload()
    await signals.getByText('all seen').waitFor()
    expect(await signals.getByRole('listitem').count()).toBe(0)
  })

  it('are told how to be checked: by what the base of the repository names, not the workspace', async () => {
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    const checks = page.getByRole('region', { name: 'How changes are checked' })
    await checks.getByText('No environment says').waitFor()
    await writeFile(join(at.project, 'Makefile'), 'build:\n\ttrue\n')
    await checks.getByRole('button', { name: 'Add some…' }).click()
    const text = await checks.locator('pre').innerText()
    expect(JSON.parse(`{${text}}`)).toEqual({
      checks: [
        { name: 'lint', run: 'npm run lint' },
        { name: 'test', run: 'make test' },
      ],
    })
    await writeFile(join(at.project, 'Makefile'), 'test:\n\ttrue\n')
    await shoot(page, 'review-checks')
    expect(await pageFaults(page)).toEqual([])
  })

  it('are published as they were read: what has moved on since is shown first', async () => {
    await page.getByRole('button', { name: 'Publish…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Title').fill('Greet in the evening')
    const description = dialog.getByLabel('Description')
    const drafted = await description.inputValue()
    await description.fill(`All tests pass.\n- \`src/audit.ts\`: logs each greeting\n- \`greet.ts\`: greets\n`)
    const doubts = dialog.getByRole('region', { name: 'Not borne out' })
    await doubts.getByText('“All tests pass.” — no verification of this revision has passed').waitFor()
    await doubts.getByText('this revision does not change src/audit.ts').waitFor()
    expect(await doubts.getByRole('listitem').count()).toBe(2)
    await doubts.scrollIntoViewIfNeeded()
    await shoot(page, 'publish')
    expect(await pageFaults(page)).toEqual([])
    await description.fill(drafted)
    await doubts.waitFor({ state: 'detached' })
    await writeFile(join(at.project, 'src/card.svg'), '<svg/>\n')
    await dialog.getByRole('button', { name: 'Open the pull request' }).click()
    await dialog.getByText('the changes have moved on since you read them').waitFor()
    const changed = dialog.getByRole('list', { name: 'Changed since you read' })
    await changed.getByRole('button', { name: /card.svg/ }).click()
    expect(await changed.getByRole('listitem').count()).toBe(1)
    await changed.getByText('<svg/>').waitFor()
    await shoot(page, 'publish-changed')
    expect(await pageFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Go on with these changes' }).click()
    expect(await dialog.getByLabel('Title').inputValue()).not.toBe('')
    await dialog.getByLabel('As a draft').check()
    await dialog.getByRole('button', { name: 'Open the pull request' }).click()
    await dialog.getByText('Published as pull request #1.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Up to date').waitFor()
    expect(await page.getByRole('button', { name: 'Publish…' }).count()).toBe(0)
  })

  it('are merged from where they were read, or it is said why not', async () => {
    const deliveries = page.getByRole('list', { name: 'Deliveries' })
    await deliveries.getByText('It is a draft.').last().waitFor()
    expect(await deliveries.getByRole('button', { name: 'Merge…' }).getAttribute('aria-disabled')).toBe('true')
    await shoot(page, 'merge')
    await deliveries.getByRole('link', { name: '#1' }).click()
    await page.getByRole('link', { name: 'Its Session' }).waitFor()
    await page.getByText('It is a draft.').last().waitFor()
    await shoot(page, 'pull')
    expect(await pageFaults(page)).toEqual([])
    // A link from elsewhere names no Session; its branch does.
    await page.goto(page.url().replace(/\?.*/, ''))
    await page.getByRole('link', { name: 'Its Session' }).click()
    const gitDir = join(accounts.test.dataDir, 'repositories/sample/reviewed.git')
    const moved = await commitTo(gitDir, 'main', at.baseOid, { moved: 'on\n' })
    await deliveries.getByRole('button', { name: 'Update from base' }).click()
    await until('the newest commit of the base in the workspace', async () => {
      const { phase } = await at.api.session(at.session.id)
      return phase === 'idle' && (await at.review()).baseOid === moved
    })
    await deliveries.getByRole('button', { name: 'Merge when ready…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Merge #1 when it is ready?' })
    await dialog.getByText('Greet in the evening').waitFor()
    await shoot(page, 'merge-asked')
    expect(await pageFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Merge when ready' }).click()
    await deliveries.getByText('Merges when it is ready').waitFor()
  })

  it('are drawn as far as they are on screen, however many and however long the lines are', async () => {
    await writeFile(join(at.project, 'a-many.txt'), 'line\n'.repeat(100_000))
    await writeFile(join(at.project, 'b-long.txt'), `${'x'.repeat(3_900_000)}\n`)
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    await lines().getByRole('button', { name: 'Show it' }).click()
    await lines().getByText('added: line').first().waitFor()
    expect(await page.locator('*').count()).toBeLessThan(3_000)
    await lines().press('n')
    await lines().getByRole('button', { name: 'Show the lines' }).first().click()
    await lines().getByRole('button', { name: '3,898,000 more characters' }).waitFor()
    expect(await page.locator('*').count()).toBeLessThan(3_000)
    await shoot(page, 'review-long')
  })

  it('are still there once the sandbox has gone, as they were stored, and can be published', async () => {
    const { id } = at.session
    for (const path of [`**/cloud/v1/sessions/${id}`, `**/cloud/sessions/${id}/overview`]) {
      await page.route(path, async route => {
        // Whoever calls for a browser has to say that the page itself asks.
        const response = await route.fetch({
          headers: { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' },
        })
        const body = (await response.text()).replaceAll('"state":"attached"', '"state":"expired"')
        await route.fulfill({ response, body })
      })
    }
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    await page.getByText('as the last Run left them').waitFor()
    await page.getByRole('button', { name: 'Publish…', disabled: false }).waitFor()
    await lines().getByRole('checkbox').first().waitFor({ state: 'attached' })
    await shoot(page, 'review-stored')
    expect(await pageFaults(page)).toEqual([])
    await page.unrouteAll()
  })

  it('never meet the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })

  it('are not there for whoever is not of the organization', async () => {
    const { api } = await accounts.test.newTenant()
    const theirs = await api.createSession()
    await page.goto(`${accounts.test.url}/sessions/${theirs.id}/review`)
    await page.getByText('No such Session').waitFor()
  })
})
