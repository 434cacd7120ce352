import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Session } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let db: TestDatabase
let writer: LogWriter
let variables: Record<string, string>
let service: ServiceProcess
let visitor: Visitor
let page: Page
let session: Session
let url: string
beforeAll(async () => {
  db = stack.use(await createTestDatabase())
  writer = stack.use(await LogWriter.open(db))
  const dataDir = await runDirectory('killed')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  variables = {
    ...testVariables,
    BERTH_ROLES: 'api,account,gateway',
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl(db),
  }
  stack.defer(() => service.kill())
  service = await startServiceProcess(variables)
  url = service.url
  // The next process is to be found where this one was.
  variables['BERTH_PORT'] = new URL(url).port
  const tenant = await createTenant(db.database)
  const person = await personWithPassword(db.database, tenant.organizationId)
  session = await new Api(url, tenant.apiKey).createSession({ title: 'Mend the clock' })
  await append(1, 5)
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${url}/sessions/${session.id}`, person)
  // The whole log is in sight, so that a gap in it is.
  await page.setViewportSize({ width: 1280, height: 4000 })
  await page.evaluate('globalThis.neverReloaded = true')
})
afterAll(() => stack.disposeAsync())

/** Appends messages, with the numbers from one to another, as a worker does. */
async function append(first: number, last: number): Promise<void> {
  const key = { organizationId: session.organizationId, sessionId: session.id }
  const messages = Array.from({ length: last - first + 1 }, (_, n) => ({
    type: 'svc.message.created' as const,
    data: { messageId: randomUUID(), role: 'assistant', text: `Step ${first + n}.` },
  }))
  await db.database.transaction(tx => appendEvents(tx, key, messages, new Date()))
  writer.announce(topics.session(key.organizationId, key.sessionId))
}
const shown = async () => (await page.getByRole('log').innerText()).match(/Step \d+\./g) ?? []
const steps = (count: number) => Array.from({ length: count }, (_, n) => `Step ${n + 1}.`)
const showsSteps = (count: number) => until(`${count} steps`, async () => (await shown()).length >= count)

describe('a page whose service is killed', () => {
  it('says so, keeps what it shows and what was typed, and catches up without a gap or a reload', async () => {
    await showsSteps(5)
    await page.getByLabel('Message to the agent').fill('Also mend the calendar')
    const list = await page.context().newPage()
    await list.goto(`${url}/sessions?everyone=true`)
    await list.locator('[data-list-item]').first().waitFor()
    await service.kill('SIGKILL')
    await list.getByRole('status').getByText('Reconnecting').waitFor()
    await list.close()
    await page.bringToFront()
    await page.getByRole('status').getByText('Reconnecting').waitFor()
    expect(await shown()).toEqual(steps(5))
    await shoot(page, 'session-reconnecting')
    expect(await pageFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 4000 })
    await append(6, 40)
    service = await startServiceProcess(variables)
    expect(service.url).toBe(url)
    await showsSteps(40)
    await page.getByText('Reconnecting').waitFor({ state: 'detached' })
    await append(41, 42)
    await showsSteps(42)
    expect(await shown()).toEqual(steps(42))
    expect(await page.getByLabel('Message to the agent').inputValue()).toBe('Also mend the calendar')
    expect(await page.evaluate('globalThis.neverReloaded')).toBe(true)
  })

  it('is signed in still, and acts', async () => {
    await page.keyboard.press('Escape')
    await page.getByLabel('Message to the agent').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('log').getByText('Also mend the calendar').waitFor()
  })

  it('still has the message that waits after a reload and another kill, and sends it then', async () => {
    const card = page.getByRole('article', { name: 'The next message' })
    await page.getByRole('button', { name: 'Send when the agent has finished' }).waitFor()
    await page.getByLabel('Message to the agent').fill('Then mend the alarm')
    await page.keyboard.press('Enter')
    await card.getByText('Then mend the alarm').waitFor()
    await page.reload()
    await card.getByText('Then mend the alarm').waitFor()
    await service.kill('SIGKILL')
    service = await startServiceProcess(variables)
    await page.reload()
    await card.getByText('Then mend the alarm').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('log').getByText('Then mend the alarm').waitFor()
    await card.waitFor({ state: 'detached' })
  })

  it('meets no policy, and complains of nothing but the service that was away', () => {
    expect(
      visitor.complaints.filter(
        complaint =>
          !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/.test(
            complaint,
          ),
      ),
    ).toEqual([])
  })
})
