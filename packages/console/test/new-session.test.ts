import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Session, Turn } from '@berth/contract'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { addGrant } from '@berth/server/admin/grants.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The part of a browser's `navigator` that a script in the page wraps. */
interface Devices {
  readonly mediaDevices: { getUserMedia(constraints: unknown): Promise<{ getTracks(): unknown[] }> }
}

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let api: Api
let environmentId: string
beforeAll(async () => {
  const engine = createServer((_, response) => response.end('{"text":"mend the greeting"}')).listen(0, '127.0.0.1')
  await once(engine, 'listening')
  stack.defer(() => void engine.close().closeAllConnections())
  const baseUrl = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`
  const config = {
    transcription: { kind: 'openai-compatible', baseUrl, apiKey: 'k', model: 'whisper' },
    providers: [{ id: 'local', kind: 'openai-compatible', baseUrl, apiKey: 'k', models: [{ id: 'm1' }, { id: 'm2' }] }],
    models: { default: 'local/m1' },
  }
  accounts = stack.use(await startAccounts({ config }))
  const { organizationId } = accounts.test.tenant
  // Nobody runs anything here, and the agents are listed once a worker has come.
  const host = { id: 'a-host', driver: 'bubblewrap', runtimes: [], patienceMs: 300_000, packagesFault: null }
  await announceHost(accounts.test.db.database, host, new Date())
  const gitDir = await sampleRepository(join(accounts.test.dataDir, 'repositories'))
  await commitTo(gitDir, 'release', await tipOf(gitDir, 'main'), { 'NOTES.md': 'next\n' })
  const variables = { DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir }
  await addGrant(variables, { organizationId, host: 'local', repositories: [] })
  const own = await accounts.person({ role: 'admin' })
  await givePassword(accounts.test.db.database, own.who)
  api = own.api
  environmentId = randomUUID()
  await new Environments(api).put(environmentId, { name: 'Node 24' })
  const browser = await launchChromium(['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'])
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions/new`, own.who)
})
afterAll(() => stack.disposeAsync())

const message = () => page.getByLabel('What should the agent do?')
const open = () => page.goto(`${accounts.test.url}/sessions/new`)
const started = async () => {
  await page.waitForURL(/\/sessions\/[0-9a-f-]{36}/)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const { body } = await api.get<{ session: Session }>(`/v1/sessions/${id}`)
  const turns = await api.get<{ turns: Turn[] }>(`/v1/sessions/${id}/turns`)
  return { session: body.session, turns: turns.body.turns }
}
/** The page's globals that this project's types lack. */
interface InPage {
  readonly DataTransfer: new () => { readonly items: { add(file: File): void } }
  readonly DragEvent: new (type: string, init: object) => Event
  readonly ClipboardEvent: new (type: string, init: object) => Event
}
const drop = (name: string, size: number) =>
  page
    .locator('form')
    .last()
    .evaluate(
      (form, [name, size]) => {
        const { DataTransfer, DragEvent } = globalThis as unknown as InPage
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['x'.repeat(size)], name, { type: 'text/plain' }))
        form.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
      },
      [name, size] as const,
    )

describe('a new Session', () => {
  it('names the Git host whose repositories it cannot offer', async () => {
    const account = { provider: 'github', accountLogin: 'acme', reason: 'late', retried: false }
    await page.route('**/cloud/repositories?*', route =>
      route.fulfill({ json: { repositories: [], nextCursor: null, hasMore: false, missing: [account] } }),
    )
    await page.getByRole('combobox', { name: 'Repository' }).fill('till')
    await page.getByText('Repositories are missing: github (acme) did not answer in time.').waitFor()
    await page.unroute('**/cloud/repositories?*')
    await page.reload()
    await message().waitFor()
  })

  it('is started with the keyboard alone, on a branch of a repository, in an environment', async () => {
    await page.keyboard.type('Mend the greeting')
    await page.getByRole('combobox', { name: 'Repository' }).focus()
    await page.keyboard.type('greet')
    await page.getByRole('option', { name: 'sample/greeter' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Branch to begin from' }).focus()
    await page.keyboard.type('rel')
    await page.getByRole('option', { name: 'release' }).waitFor()
    await shoot(page, 'new-session-branch')
    await page.keyboard.press('Enter')
    await page.getByLabel('Environment').selectOption('Node 24')
    await shoot(page, 'new-session')
    expect(await pageFaults(page)).toEqual([])
    await page.getByLabel('Environment').focus()
    await page.keyboard.press('Control+Enter')
    const { session, turns } = await started()
    expect(session).toMatchObject({
      source: { label: 'sample/greeter', baseBranch: 'release' },
      environment: { id: environmentId },
    })
    expect(turns.map(turn => turn.message)).toEqual(['Mend the greeting'])
  })

  it('has the default environment of the organization, unless somebody asks for none', async () => {
    const environments = new Environments(api)
    const { id } = await environments.make()
    expect((await environments.choose(id)).status).toBe(200)
    for (const [choice, bound] of [
      [`Default (made ${id})`, id],
      ['None', undefined],
    ] as const) {
      await open()
      await message().fill('Greet')
      await page.getByLabel('Environment').selectOption(choice)
      await page.getByRole('button', { name: 'Start' }).click()
      const { session } = await started()
      expect(session.environment?.id).toBe(bound)
    }
    expect((await environments.choose(null)).status).toBe(200)
  })

  it('has the model and the budget that were chosen, and shows what is spent of it', async () => {
    await open()
    await message().fill('Greet')
    await page.getByLabel('Model').selectOption('local/m2')
    await page.getByLabel('Budget').fill('5')
    await shoot(page, 'new-session-model')
    await page.getByRole('button', { name: 'Start' }).click()
    const { session } = await started()
    expect([session.model, session.budget]).toEqual(['local/m2', { costUsd: 5, spentUsd: 0 }])
    await page.getByText('$0.00 of $5.00').waitFor()
    await page.goto(`${page.url()}?panel=details`)
    await page.getByLabel('Budget').fill('')
    await page.getByRole('button', { name: 'Set' }).click()
    await page.getByText('$0.00 of $5.00').waitFor({ state: 'detached' })
    expect((await started()).session.budget).toBeNull()
  })

  it('is still there after a reload, until it is started', async () => {
    await open()
    expect(await message().inputValue()).toBe('')
    await message().fill('Write a poem')
    await page.getByRole('combobox', { name: 'Repository' }).fill('sam')
    await page.getByRole('option', { name: 'sample/greeter' }).click()
    await page.reload()
    expect(await message().inputValue()).toBe('Write a poem')
    expect(await page.getByRole('combobox', { name: 'Repository' }).inputValue()).toBe('sample/greeter')
    await page.getByRole('button', { name: 'Work without a repository' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    const { session } = await started()
    expect([session.title, session.source]).toEqual(['Write a poem', undefined])
  })

  it('begins with the repository of the last one, and with what a link says, once', async () => {
    await open()
    await message().fill('Greet')
    await page.getByRole('combobox', { name: 'Repository' }).fill('sam')
    await page.getByRole('option', { name: 'sample/greeter' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    expect((await started()).session.source).toMatchObject({ label: 'sample/greeter' })
    await open()
    await expect.poll(() => page.getByRole('combobox', { name: 'Repository' }).inputValue()).toBe('sample/greeter')

    const link = new URLSearchParams({ q: '42', repo: 'Sample/Greeter', branch: 'release', model: 'local/m2' })
    await page.goto(`${accounts.test.url}/sessions/new?${link}`)
    await page.waitForURL(/\/sessions\/new$/)
    await message().fill(`${await message().inputValue()} greetings`)
    await page.reload()
    expect(await message().inputValue()).toBe('42 greetings')
    await page.getByRole('button', { name: 'Start' }).click()
    const { session, turns } = await started()
    expect(session).toMatchObject({ source: { label: 'sample/greeter', baseBranch: 'release' }, model: 'local/m2' })
    expect(turns.map(turn => turn.message)).toEqual(['42 greetings'])
  })

  it('does not start without the repository that a link names', async () => {
    await page.goto(`${accounts.test.url}/sessions/new?q=Greet&repo=no/such`)
    await page.getByText('The link names no/such').waitFor()
    await shoot(page, 'new-session-link')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Start' }).focus()
    await page.getByText('Pick a repository first: no/such is not found.').waitFor()
    await page.getByRole('button', { name: 'Work without it' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    expect((await started()).session.source).toBeUndefined()
  })

  it('takes files by drop, by paste and from a dialog, as far as they fit', async () => {
    await open()
    await message().fill('Read these')
    await drop('dropped.txt', 10)
    await page.getByText('dropped.txt').waitFor()
    await drop('large.bin', 2_000_000)
    await page.getByText('large.bin does not fit').waitFor()
    await message().evaluate(box => {
      const { DataTransfer, ClipboardEvent } = globalThis as unknown as InPage
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File(['png'], 'image.png', { type: 'image/png' }))
      box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    })
    await page.getByText('image.png').waitFor()
    const file = { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Hi') }
    await page.getByLabel('Files for the agent').setInputFiles(file)
    await page.getByRole('button', { name: 'Remove image.png' }).click()
    await shoot(page, 'new-session-files')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Start' }).click()
    const { session, turns } = await started()
    expect(session.title).toBe('Read these')
    expect(turns[0]?.files.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
      ['dropped.txt', 10],
      ['notes.md', 4],
    ])
  })

  it('takes what is said', async () => {
    await open()
    await message().fill('Please')
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByRole('button', { name: 'Stop and write it down' }).waitFor()
    // The fake microphone beeps once a second.
    await page.waitForTimeout(1_500)
    await page.getByRole('button', { name: 'Stop and write it down' }).click()
    await page.getByRole('button', { name: 'Speak' }).waitFor()
    await expect.poll(() => message().inputValue()).toBe('Please mend the greeting')
  })

  it('says at the field what was refused, and keeps what was entered', async () => {
    await page.getByLabel('Environment').selectOption('Node 24')
    await new Environments(api).archive(environmentId, 1)
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText(/This environment is (archived|gone)/).waitFor()
    expect(await page.getByLabel('Environment').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Environment').selectOption('None')
    expect(await page.getByLabel('Environment').getAttribute('aria-invalid')).toBeNull()
    await message().fill(' ')
    await page.getByRole('button', { name: 'Start' }).focus()
    await page.getByText('Say first what the agent should do.').waitFor()
  })
})

describe('the message box of a Session', () => {
  const box = () => page.getByLabel('Message to the agent')
  const send = () => page.getByRole('button', { name: 'Send', exact: true })
  let id: string
  beforeAll(async () => {
    id = (await api.createSession({ title: 'Greet' })).id
    await page.goto(`${accounts.test.url}/sessions/${id}`)
    await box().waitFor()
  })

  it('takes files by drop and from a dialog, and what is said, and sends them', async () => {
    await box().fill('Look')
    await drop('dropped.txt', 10)
    await page.getByText('dropped.txt').waitFor()
    const file = { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Hi') }
    await page.getByLabel('Files for the agent').setInputFiles(file)
    await drop('large.bin', 2_000_000)
    await page.getByText('large.bin does not fit').waitFor()
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByRole('button', { name: 'Stop and write it down' }).waitFor()
    await page.waitForTimeout(1_500)
    await page.getByRole('button', { name: 'Stop and write it down' }).click()
    await expect.poll(() => box().inputValue()).toBe('Look mend the greeting')
    await shoot(page, 'session-message-files')
    expect(await pageFaults(page)).toEqual([])
    await send().click()
    await expect.poll(() => box().inputValue()).toBe('')
    expect(await page.getByRole('list', { name: 'Files', exact: true }).count()).toBe(0)
    const { turns } = (await api.get<{ turns: Turn[] }>(`/v1/sessions/${id}/turns`)).body
    expect(turns.map(({ message, files }) => [message, files.map(({ name, sizeBytes }) => [name, sizeBytes])])).toEqual(
      [
        [
          'Look mend the greeting',
          [
            ['dropped.txt', 10],
            ['notes.md', 4],
          ],
        ],
      ],
    )
  })

  it('keeps files from a message that waits, and says so', async () => {
    await page.getByRole('button', { name: 'Send when the agent has finished' }).waitFor()
    await box().fill('Then this')
    await drop('later.txt', 10)
    await page.getByText('A message that waits takes no files').waitFor()
    await box().press('Enter')
    expect(await box().inputValue()).toBe('Then this')
    await page.getByRole('button', { name: 'Remove later.txt' }).click()
    await box().press('Enter')
    await page.getByRole('article', { name: 'The next message' }).getByText('Then this').waitFor()
    await expect.poll(() => box().inputValue()).toBe('')
  })

  it('hears nobody any more once the page is left', async () => {
    const { id: other } = await api.createSession({ title: 'Listen' })
    await page.addInitScript(() => {
      const devices = (globalThis as unknown as { navigator: Devices }).navigator.mediaDevices
      const listen = devices.getUserMedia.bind(devices)
      devices.getUserMedia = async constraints => {
        const stream = await listen(constraints)
        Object.assign(globalThis, { heard: stream.getTracks() })
        return stream
      }
    })
    await page.goto(`${accounts.test.url}/sessions/${other}`)
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByRole('button', { name: 'Stop and write it down' }).waitFor()
    const heard = () => page.evaluate<string[]>('heard.map(({ readyState }) => readyState)')
    expect(await heard()).toEqual(['live'])
    await page.locator(`aside a[href="/sessions/${id}"]`).click()
    await page.getByRole('heading', { level: 1, name: 'Greet' }).waitFor()
    await expect.poll(heard).toEqual(['ended'])
  })
})

it('never met the policy of the page', () => {
  expect(visitor.complaints).toEqual([])
})
