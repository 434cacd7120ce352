import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { SubscribedBrowser } from '@berth/testing/push/subscribed-browser.ts'
import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import type { Browser, CDPSession, Page, Worker } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const network = new ScriptedNetwork()
const subscriber = new SubscribedBrowser()
let receiver: Receiver
let accounts: Accounts
let browser: Browser
let visitor: Visitor
let page: Page
let cdp: CDPSession
let worker: Worker
let endpoint: string
beforeAll(async () => {
  receiver = stack.use(await Receiver.open(null))
  receiver.answer = response => response.writeHead(201).end()
  const origin = `http://push.example:${receiver.port}`
  endpoint = `${origin}/${randomUUID()}`
  network.names.set('push.example', ['127.0.0.1'])
  network.ports.set(`127.0.0.1:${receiver.port}`, receiver.port)
  accounts = stack.use(await startAccounts({ network, config: { webhooks: { allow: [origin] } } }))
  const { test } = accounts
  const person = await personWithPassword(test.db.database, test.tenant.organizationId)
  browser = await launchChromium([], 'chromium')
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await page.context().grantPermissions(['notifications'], { origin: new URL(test.url).origin })
  // No test reaches a push service, so the browser is given the subscription that it would have got.
  await page.context().addInitScript(
    wanted => {
      let made: object | null = null
      const subscription = (applicationServerKey: ArrayBuffer) => ({
        options: { applicationServerKey },
        toJSON: () => wanted,
        unsubscribe: async () => {
          made = null
          return true
        },
      })
      const bytes = (text: string) =>
        Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0))
          .buffer
      const { PushManager } = globalThis as { PushManager?: { prototype: object } }
      if (PushManager === undefined) return
      Object.assign(PushManager.prototype, {
        getSubscription: async () => made,
        subscribe: async (options: { applicationServerKey: string }) =>
          (made = subscription(bytes(options.applicationServerKey))),
      })
    },
    (({ p256dh, auth }) => ({ endpoint, keys: { p256dh, auth } }))(subscriber.asks(endpoint)),
  )
  await openSignedIn(page, `${test.url}/settings/notifications`, person)
  await section().getByText('Not set up for this browser').waitFor()
})
afterAll(() => stack.disposeAsync())

/** The members of a worker's global scope that this project's types lack. */
interface WorkerScope {
  readonly registration: {
    getNotifications(filter: { tag: string }): Promise<readonly { title: string; body: string }[]>
  }
}

const section = () => page.getByRole('region', { name: 'While Berth is closed' })

/** Hands the worker a message, as the browser does with one that its push service has brought. */
async function deliver(message: object): Promise<void> {
  await until('the registration', () => registrationId !== '')
  await cdp.send('ServiceWorker.deliverPushMessage', {
    origin: new URL(accounts.test.url).origin,
    registrationId,
    data: JSON.stringify(message),
  })
}
let registrationId = ''
const shown = (tag: string) =>
  worker.evaluate(async tag => {
    const { registration } = globalThis as unknown as WorkerScope
    return (await registration.getNotifications({ tag })).map(({ title, body }) => ({ title, body }))
  }, tag)

describe('a browser that is told while no tab is open', () => {
  it('is turned on where the browser can', async () => {
    await shoot(page, 'push-off')
    cdp = await page.context().newCDPSession(page)
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      registrationId = registrations.find(({ isDeleted }) => !isDeleted)?.registrationId ?? registrationId
    })
    await cdp.send('ServiceWorker.enable')
    const began = page.context().waitForEvent('serviceworker')
    await section().getByRole('button', { name: 'Turn on here' }).click()
    worker = await began
    expect(new URL(worker.url()).pathname).toBe('/push-worker.js')
    await section().getByText('On for this browser', { exact: true }).waitFor()
    await section().getByText('This browser', { exact: true }).waitFor()
    await shoot(page, 'push-on')
    expect(await pageFaults(page)).toEqual([])
  })

  it('can keep the page as a program of its own, which some systems ask for before they show anything', async () => {
    const { url, errors, data = '' } = await cdp.send('Page.getAppManifest')
    expect([url, errors]).toEqual([`${accounts.test.url}/manifest.webmanifest`, []])
    const { icons }: { icons: { src: string; sizes: string }[] } = JSON.parse(data)
    const sources = JSON.stringify(icons.map(({ src }) => src))
    const sizes = await page.evaluate<number[]>(
      `Promise.all(${sources}.map(async src => {
        const image = Object.assign(new Image(), { src })
        await image.decode()
        return image.naturalWidth
      }))`,
    )
    const widths = icons.map(({ sizes: text }) => Number.parseInt(text, 10))
    expect(sizes.filter((_, at) => !Number.isNaN(widths[at]))).toEqual(widths.filter(size => !Number.isNaN(size)))
    expect(await pageFaults(page)).toEqual([])
  })

  it('gets a test, which it alone can read, and shows it although somebody looks', async () => {
    await section().getByRole('button', { name: 'Send a test' }).click()
    await section().getByText('It is on its way').waitFor()
    await until('the push', () => receiver.received.length > 0)
    const message = JSON.parse(subscriber.read(receiver.received[0]?.body as Buffer))
    expect(message).toMatchObject({ title: 'Berth', sessionId: null })
    // The browser drops a push for a worker that it has registered and not yet started. Its tag makes all of them one.
    const arrives = async () => {
      await deliver(message)
      return (await shown('berth.test')).length === 1
    }
    await until('the notification', arrives, 60_000, 500)
    // A delivery may be under way still, so the tests below look at other tags.
    expect(await shown('berth.test')).toEqual([{ title: 'Berth', body: 'Notifications reach this browser.' }])
  })

  const sessionId = randomUUID()

  it('shows nothing of a Session while a tab of the membership is in sight, and otherwise as text alone', async () => {
    const { membershipId } = (await accounts.person({})).who
    const own = await page.evaluate(() => Object.keys(localStorage).find(key => key.startsWith('berth.push.')))
    const message = { title: 'Fix\u202e it\n', body: 'Asks a question', sessionId }
    const inSight = randomUUID()
    await deliver({ ...message, sessionId: inSight, membershipId: own?.slice('berth.push.'.length) })
    // The visible page belongs to another membership, so this one is shown, and by then the first was dropped.
    await deliver({ ...message, membershipId })
    await until('the notification', async () => (await shown(sessionId)).length > 0)
    expect(await shown(sessionId)).toEqual([{ title: 'Fix· it·', body: 'Asks a question' }])
    expect(await shown(inSight)).toEqual([])
    await deliver({ ...message, body: 'Has finished', membershipId })
    await until('the next one', async () => (await shown(sessionId)).some(({ body }) => body === 'Has finished'))
    expect(await shown(sessionId)).toHaveLength(1)
  })

  it('goes to the Session in the tab that is open when the notification is pressed', async () => {
    await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }))
    await worker.evaluate(async tag => {
      const scope = globalThis as unknown as EventTarget & WorkerScope
      const [notification] = await scope.registration.getNotifications({ tag })
      const Pressed = (globalThis as unknown as { NotificationEvent: new (type: string, init: object) => Event })
        .NotificationEvent
      scope.dispatchEvent(new Pressed('notificationclick', { notification }))
    }, sessionId)
    await page.waitForURL(`**/sessions/${sessionId}`)
    expect(await page.evaluate(() => 'sameDocument' in globalThis)).toBe(true)
    await until('it to close', async () => (await shown(sessionId)).length === 0)
  })

  it('keeps its wishes, and repeats its subscription when the page is loaded', async () => {
    await page.goto(`${accounts.test.url}/settings/notifications`)
    await section().getByLabel('A run has ended').uncheck()
    const { database } = accounts.test.db
    await until('the wish to be kept', async () => {
      const { rows } = await database.query('select run_ended from push_subscriptions')
      return rows[0]?.['run_ended'] === false
    })
    await section().getByLabel('A run has ended').and(page.locator(':enabled')).waitFor()
    await database.query('delete from push_subscriptions')
    await page.reload()
    await section().getByText('On for this browser', { exact: true }).waitFor()
    expect(await section().getByLabel('A run has ended').isChecked()).toBe(false)
    expect(await section().getByLabel('An agent needs you').isChecked()).toBe(true)
  })

  it('is turned off again', async () => {
    await section().getByRole('button', { name: 'Turn off here' }).click()
    await section().getByText('Not set up for this browser').waitFor()
    await page.reload()
    await section().getByText('Not set up for this browser').waitFor()
    const { rows } = await accounts.test.db.database.query('select id from push_subscriptions')
    expect(rows).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
