import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let visitor: Visitor
let page: Page
/** Acts that the page must never do: ask another host, or open a dialog or a window. */
const deeds: string[] = []
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  accounts = stack.use(await startAccounts({ variables, config: { runtimes } }))
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  api = (await accounts.person({})).api
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions`, person)
  page.on('request', request => {
    if (new URL(request.url()).origin !== accounts.test.url) deeds.push(request.url())
  })
  page.on('dialog', dialog => {
    deeds.push(dialog.message())
    return dialog.dismiss()
  })
  visitor.context.on('page', other => deeds.push(`a window: ${other.url()}`))
})
afterAll(() => stack.disposeAsync())

async function open(runtime: string, script: string): Promise<void> {
  const session = await api.createSession({ runtime, title: 'Look around' }, script)
  await page.goto(`${accounts.test.url}/sessions/${session.id}`)
}
const log = () => page.getByRole('log')

describe('what an agent writes', () => {
  it('is text and links in a message, and loads and runs nothing', async () => {
    const messages = [
      '<script>document.title="owned"</script> <style>body{display:none}</style>',
      '<img src=x onerror="document.title=1"> <svg onload="document.title=1"><image href="https://evil.example/i"/></svg>',
      '<iframe src="https://evil.example/"></iframe><form action="https://evil.example/"><button>Go</button></form>',
      '[run](javascript:document.title=1) [RUN](JaVaScRiPt:document.title=1) [data](data:text/html,owned) [blob](blob:x) [file](file:///etc/passwd)',
      '[near](//evil.example/x) [good](https://docs.example/page) ![pixel](https://evil.example/p.gif) ![inline](data:image/svg+xml,x)',
      '<https://auto.example/> <javascript:alert(1)> &lt;b&gt; &amp; &rarr; [https://bank.example](https://evil.example/b)',
      'See [https://bank.example@evil.example/](https://bank.example@evil.example/) for more.',
      '[write](mailto:ada@example.test)',
      'All said.',
    ]
    await open('scripted', `say ${messages.join('\\n\\n')}`)
    const prose = log().locator('.prose-agent')
    await prose.getByText('All said.').waitFor()
    expect(await prose.locator('script, style, img, svg, iframe, form, button, object, embed').count()).toBe(0)
    const links = await prose
      .locator('a')
      .evaluateAll(all =>
        all.map(each => [...['href', 'title', 'rel', 'target'].map(name => each.getAttribute(name)), each.textContent]),
      )
    // Each shows its host beside its text, not on hover alone: a phone has none.
    expect(links.map(([href, title, , , text]) => [href, title, text]).sort()).toEqual([
      ['https://auto.example/', 'auto.example', 'https://auto.example/'],
      ['https://bank.example@evil.example/', 'evil.example', 'https://bank.example@evil.example/ (evil.example)'],
      ['https://docs.example/page', 'docs.example', 'good (docs.example)'],
      ['https://evil.example/b', 'evil.example', 'https://bank.example (evil.example)'],
      ['https://evil.example/p.gif', 'evil.example', 'evil.example'],
      ['mailto:ada@example.test', 'ada@example.test', 'write (ada@example.test)'],
    ])
    for (const [, , rel, target] of links) expect([rel, target]).toEqual(['noopener noreferrer nofollow', '_blank'])
    await prose.getByText('<script>document.title="owned"</script>').waitFor()
    // A character reference is decoded without `innerHTML`, which the policy forbids.
    await prose.getByText('<b> & →').waitFor()
    expect(await page.title()).toBe('Look around · Berth')
    await shoot(page, 'hostile-message')
    expect(await pageFaults(page)).toEqual([])
  })

  it('is text with colours in the output of a tool, and a line of 4 MB does not stop the page', async () => {
    const output = [
      String.raw`printf '\033[31mred\033[0m \033]0;owned\007\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\ \033]52;c;b3duZWQ=\007'`,
      String.raw`printf '\033[2J\033[999;1H\033[?1049h\r<b>over</b> \342\200\256gnp.exe\342\200\254 a\342\200\213b \n'`,
      `head -c 4000000 /dev/zero | tr '\\0' x`,
    ]
    await open('shell', output.join('\n'))
    await page.getByText('Finished').waitFor()
    await log().getByText('Cut to the size that the log keeps.').waitFor()
    const drawn = await log().locator('pre').allInnerTexts()
    expect(drawn.join('').length).toBeLessThan(200_000)
    expect(await log().locator('pre b, pre a').count()).toBe(0)
    expect(await page.title()).toBe('Look around · Berth')
    // The page still answers.
    await page.getByLabel('Message to the agent').fill('Still here')
    expect(await page.getByLabel('Message to the agent').inputValue()).toBe('Still here')
    await page.getByLabel('Message to the agent').fill('')
  })

  it('shows in the colours and words of a terminal what hides there', async () => {
    const output = String.raw`printf '\033[31mred\033[0m\033]0;owned\007 \342\200\256gnp.exe a\342\200\213b <b>bold</b>\n'`
    await open('shell', output)
    await page.getByText('Finished').waitFor()
    const pre = log().locator('pre', { hasText: 'gnp.exe' }).last()
    await pre.waitFor()
    const text = await pre.innerText()
    expect(text).toContain('⟨U+202E⟩gnp.exe a⟨U+200B⟩b <b>bold</b>')
    for (const hidden of ['\u001b', '\u0007', '\u202e', '\u200b']) expect(text).not.toContain(hidden)
    expect(await pre.locator('span[class]', { hasText: /^red$/ }).count()).toBe(1)
    await shoot(page, 'hostile-output')
    expect(await pageFaults(page)).toEqual([])
  })

  it('hides nothing of what is asked for beside the buttons that allow it', async () => {
    const command = `ls \u202e/ fr- mr\u202c \u200b; ${'#'.repeat(6_000)}; rm -rf /`
    await open('scripted', `permission ${command}`)
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    const action = await page.locator('pre', { hasText: 'rm -rf /' }).last().innerText()
    expect(action).toContain('ls ⟨U+202E⟩/ fr- mr⟨U+202C⟩ ⟨U+200B⟩; ###')
    expect(action.trimEnd().endsWith('#; rm -rf /')).toBe(true)
    await shoot(page, 'hostile-approval')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Deny' }).first().click()
    await page.getByText('Finished').waitFor()
  })

  it('hides nothing in a plan or a question beside the buttons that answer them', async () => {
    await open('scripted', 'plan safe\u202etxt')
    await page.getByRole('button', { name: 'Approve the plan' }).waitFor()
    const dock = page.getByRole('region', { name: 'Waiting for you' })
    await dock.locator('.prose-agent').getByText('safe⟨U+202E⟩txt', { exact: true }).waitFor()
    expect(await dock.innerText()).not.toContain('\u202e')
    const oneOf = [{ const: 'x', title: 'Keep\u200bit' }]
    const properties = { a: { type: 'string', title: 'Which\u202efile?', oneOf } }
    const form = { message: 'Choose\u202eone', requestedSchema: { type: 'object', properties } }
    await open('scripted', `ask ${JSON.stringify(form)}`)
    await dock.getByRole('button', { name: /^Keep/ }).waitFor()
    const action = await dock.innerText()
    for (const shown of ['⟨U+202E⟩', 'Keep⟨U+200B⟩it']) expect(action).toContain(shown)
    for (const hidden of ['\u202e', '\u200b']) expect(action).not.toContain(hidden)
  })

  it('asked nobody else, opened nothing, and met no policy', () => {
    expect(deeds).toEqual([])
    expect(visitor.complaints).toEqual([])
  })
})
