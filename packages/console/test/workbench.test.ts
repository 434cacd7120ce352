import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Tries the acts that a page of a preview must not be able to do, and shows its findings. */
const app = `
require('node:http').createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html')
  response.end(\`<!doctype html><title>shop</title><h1>Shop</h1><p id=seen></p><script>
    (async () => {
      const seen = ['cookies:' + document.cookie, 'opener:' + (window.opener !== null)]
      for (const path of ['/cloud/auth/session', '/cloud/v1/sessions']) {
        try {
          const answer = await fetch(ORIGIN + path, { credentials: 'include', headers: {} })
          seen.push(path + ':' + answer.status + ':' + (await answer.text()).length)
        } catch { seen.push(path + ':refused') }
      }
      document.querySelector('#seen').textContent = seen.join(' ')
    })()
  </script>\`.replace('ORIGIN', JSON.stringify(process.argv[2])))
}).listen(3000)
`

const script = (origin: string) => `
cat > app.cjs <<'END'${app}END
printf '# Report\\n\\n- **One** cause, see \`src/login.ts:4\`\\n- <script>document.title="owned"</script> ![pixel](https://evil.example/p.gif)\\n' > report.md
printf '<h1>owned</h1><script>top.document.title="owned"</script>' > page.html
printf '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120"><rect width="240" height="120" rx="8" fill="teal"/></svg>' > chart.svg
printf 'a\\0b' > data.bin; head -c 34000000 /dev/zero > huge.bin
for file in report.md page.html chart.svg data.bin huge.bin; do berth-present "$file"; done
node app.cjs ${origin} & while [ ! -e stop ]; do sleep 0.1; done
`

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let session: Session
let api: Api
let origin: string
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  origin = accounts.test.url
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  api = (await accounts.person({})).api
  session = await api.createSession({ title: 'Build the shop', runtime: 'shell' }, script(origin))
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${origin}/sessions/${session.id}?panel=preview`, person)
  await page.getByRole('button', { name: 'Open port 3000' }).waitFor()
})
afterAll(() => stack.disposeAsync())

const show = (panel: 'preview' | 'artifacts') => page.goto(`${origin}/sessions/${session.id}?panel=${panel}`)
let ended: Promise<unknown> | null = null
/** Lets the Run end, once for all tests: each of them may be the first. */
const end = () => {
  ended ??= touch(accounts.test.db.database, accounts.test.dataDir, session, 'stop').then(() =>
    until('a session at rest', async () => (await api.session(session.id)).phase === 'idle'),
  )
  return ended
}

describe('a preview of a port', () => {
  it('opens in a tab of its own, which reaches nothing of the console', async () => {
    await show('preview')
    await page.getByRole('button', { name: 'Open port 3000' }).waitFor()
    await shoot(page, 'preview')
    expect(await pageFaults(page)).toEqual([])
    const opening = page.context().waitForEvent('page')
    await page.getByRole('button', { name: 'Open port 3000' }).click()
    const shop = await opening
    await shop.getByRole('heading', { name: 'Shop' }).waitFor()
    expect(new URL(shop.url()).hostname).toMatch(/^3000-[a-z2-7]{20}\.localhost$/)
    await shop.locator('#seen:not(:empty)').waitFor()
    expect(await shop.locator('#seen').innerText()).toBe(
      'cookies: opener:false /cloud/auth/session:refused /cloud/v1/sessions:refused',
    )
    await page.getByRole('button', { name: 'Close previews' }).click()
    await expect
      .poll(async () => {
        await shop.reload()
        return shop.getByRole('heading').innerText()
      })
      .toBe('This preview is closed')
    await shop.close()
  })

  it('says that nothing runs once the Run has ended', async () => {
    await show('preview')
    await end()
    await page.getByText('The sandbox is paused').waitFor()
    await shoot(page, 'preview-at-rest')
    expect(await pageFaults(page)).toEqual([])
  })
})

describe('a preview after the Run', () => {
  it('serves the work for a time, says why its command ended, and brings a sandbox back', async () => {
    const environments = new Environments(api)
    const { id } = await environments.make({ preview: { command: 'echo opening; . ./serve.sh', port: 3000 } })
    const serve = `exec node app.cjs ${origin}`
    const message = `cat > app.cjs <<'END'${app}END\necho '${serve}' > serve.sh`
    const shop = await api.createSession({ title: 'Open the shop', runtime: 'shell', environment: { id } }, message)
    await api.runEnded(shop.id, shop.activeRunId ?? '')
    await until('a session at rest', async () => (await api.session(shop.id)).phase === 'idle')
    await page.goto(`${origin}/sessions/${shop.id}?panel=preview`)
    await page.getByText('The sandbox is paused').waitFor()
    await shoot(page, 'preview-to-start')
    expect(await pageFaults(page)).toEqual([])
    const start = page.getByRole('button', { name: 'Start preview, 15 minutes' })
    await start.click()
    await page.getByRole('status').filter({ hasText: 'The preview runs' }).waitFor()
    await shoot(page, 'preview-running')
    expect(await pageFaults(page)).toEqual([])
    const opening = page.context().waitForEvent('page')
    await page.getByRole('button', { name: 'Open port 3000' }).click()
    const opened = await opening
    await opened.getByRole('heading', { name: 'Shop' }).waitFor()
    await opened.close()
    await page.getByRole('button', { name: '15 more minutes' }).click()
    await page.getByText(/^(?:29|30):\d\d left$/).waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).click()
    await start.waitFor()

    const { run } = await api.submitTurn(shop.id, `echo 'printf "\\033[31mno shop\\033[0m\\n"; exit 3' > serve.sh`)
    await api.runEnded(shop.id, run.id)
    await until('a session at rest', async () => (await api.session(shop.id)).phase === 'idle')
    await start.click()
    await page.getByText('The command ended with exit code 3').waitFor()
    await page.getByText('no shop', { exact: true }).waitFor()
    await shoot(page, 'preview-failed')
    expect(await pageFaults(page)).toEqual([])
    const mend = await api.submitTurn(shop.id, `echo '${serve}' > serve.sh`)
    await api.runEnded(shop.id, mend.run.id)
    await page.getByRole('button', { name: 'Start again' }).click()
    await page.getByRole('status').filter({ hasText: 'The preview runs' }).waitFor()

    await page.getByRole('button', { name: 'End', exact: true }).click()
    await until('a sandbox that goes', async () => {
      const { status } = await api.call('DELETE', `/v1/sessions/${shop.id}/workspace`)
      return status === 204
    })
    await page.getByRole('heading', { name: 'No sandbox' }).waitFor()
    await start.click()
    await page.getByRole('status').filter({ hasText: 'The preview runs' }).waitFor()
  })
})

describe('the artifacts of a Session', () => {
  it('are listed with what was not kept', async () => {
    await end()
    await page.goto(`${origin}/sessions/${session.id}`)
    await page.getByRole('link', { name: 'Show the work' }).click()
    await page.getByRole('navigation', { name: 'Work' }).getByRole('link', { name: 'Artifacts' }).click()
    await page.getByRole('link', { name: /report\.md/ }).waitFor()
    await page
      .getByText(/huge\.bin .* was not kept/)
      .last()
      .waitFor()
    await shoot(page, 'artifacts')
    expect(await pageFaults(page)).toEqual([])
  })

  it('are shown as Markdown, pictures and text, and nothing in them acts', async () => {
    await end()
    await show('artifacts')
    await page.getByRole('link', { name: /report\.md/ }).click()
    const report = page.getByRole('region', { name: 'report.md' })
    await report.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await report.locator('img, script').count()).toBe(0)
    await shoot(page, 'artifact')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'All artifacts' }).click()
    await page.getByRole('link', { name: /chart\.svg File/ }).click()
    await page.getByText('240 × 120').waitFor()
    await page.getByRole('link', { name: 'All artifacts' }).click()
    await page.getByRole('link', { name: /page\.html/ }).click()
    await page.getByText('<h1>owned</h1><script>top.document.title="owned"</script>', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'All artifacts' }).click()
    await page.getByRole('link', { name: /data\.bin/ }).click()
    await page.getByText('neither text nor a picture').waitFor()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download data.bin' }).click()
    expect((await saving).suggestedFilename()).toBe('data.bin')
    expect(await page.title()).toMatch(/^Build the shop/)
  })

  it('that are pictures stand in the transcript and the list, before and after the last Run', async () => {
    await end()
    const svg = (width: number) =>
      `printf '<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="120"><rect width="${width}" height="120" rx="8" fill="purple"/></svg>' > chart.svg`
    const message = `${svg(360)}; echo none > broken.png; berth-present broken.png; berth-present chart.svg`
    const { run } = await api.submitTurn(session.id, message)
    await api.runEnded(session.id, run.id)
    await show('artifacts')
    const newest = page.getByRole('listitem').filter({ hasText: 'chart.svg' }).first()
    for (const place of [newest, page.getByRole('log', { name: 'Transcript' })]) {
      for (const [moment, width] of [
        ['before', 240],
        ['after', 360],
      ] as const) {
        const picture = place.getByRole('img', { name: `chart.svg, ${moment}` })
        await picture.waitFor()
        await expect
          .poll(() => picture.evaluate(each => (each as unknown as { naturalWidth: number }).naturalWidth))
          .toBe(width)
      }
    }
    const broken = page.getByRole('listitem').filter({ hasText: 'broken.png' })
    await broken.getByText('This picture cannot be shown.').waitFor()
    await shoot(page, 'artifacts-before-after')
    expect(await pageFaults(page)).toEqual([])
    await newest.getByRole('link').click()
    await page.getByRole('heading', { name: /^Before/ }).waitFor()
    await page.getByText('240 × 120').waitFor()
    await page.getByText('360 × 120').waitFor()
    await shoot(page, 'artifact-before-after')
    expect(await pageFaults(page)).toEqual([])
    await page.goto(`${origin}/sessions/${session.id}`)
    await page.getByRole('img', { name: 'chart.svg, after' }).waitFor()
    await shoot(page, 'transcript-before-after')
    expect(await pageFaults(page)).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
