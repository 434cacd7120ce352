import { createPublicKey, randomUUID, verify } from 'node:crypto'
import type { PushMessage, PushSubscription, PushSubscriptionList, Session } from '@berth/contract'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { forgetPushes } from '@berth/server/console/push/delivery-sql.ts'
import { forgetSubscriptions } from '@berth/server/console/push/subscription-sql.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openInteraction } from '@berth/testing/console/session-rows.ts'
import { SubscribedBrowser } from '@berth/testing/push/subscribed-browser.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const network = new ScriptedNetwork()
let receiver: Receiver
let accounts: Accounts
let standIn: WorkerStandIn
let origin: string
beforeAll(async () => {
  receiver = stack.use(await Receiver.open(null))
  receiver.answer = response => response.writeHead(201).end()
  origin = `http://push.example:${receiver.port}`
  network.names.set('push.example', ['127.0.0.1'])
  network.ports.set(`127.0.0.1:${receiver.port}`, receiver.port)
  accounts = stack.use(await startAccounts({ network, config: { webhooks: { allow: [origin] } } }))
  standIn = new WorkerStandIn(accounts.test.db.database)
})
afterEach(async () => {
  await accounts.test.db.database.query('delete from push_subscriptions')
  receiver.received.length = 0
  receiver.answer = response => response.writeHead(201).end()
})
afterAll(() => stack.disposeAsync())

const path = '/cloud/push-subscriptions'

/** A person with a browser that is pushed to. */
async function subscribed(wishes: { needsYou?: boolean; runEnded?: boolean } = {}) {
  const person = await accounts.person({})
  const browser = new SubscribedBrowser()
  const endpoint = `${origin}/${randomUUID()}`
  expect(outcome(await person.api.put(`${path}/${browser.id}`, browser.asks(endpoint, wishes)))).toBe('200')
  return { ...person, browser, endpoint }
}

/** Tells the sender that a Session has moved; nobody else announces the rows that a test writes. */
const notify = ({ organizationId, id }: Session) =>
  announce(accounts.test.db.database, topics.session(organizationId, id))
/** Has everything due at once: nobody waits for people to look. */
const due = () => accounts.test.db.database.query('update push_deliveries set due_at = created_at')
const queued = async () => {
  const text = 'select kind, tries, ended_at from push_deliveries order by created_at, kind'
  const { rows } = await accounts.test.db.database.query<{ kind: string; tries: number; ended_at: Date | null }>(text)
  return rows
}
/** Waits for the notice of a request, and keeps it from becoming due. */
const held = () =>
  until('the request', async () => {
    const text = "update push_deliveries set due_at = 'infinity' where ended_at is null"
    return (await accounts.test.db.database.query(text)).rowCount === 1
  })
/** Waits for so many pushes and returns their content. */
async function pushed(browser: SubscribedBrowser, count: number): Promise<readonly PushMessage[]> {
  await until(`${count} pushes`, async () => {
    await due()
    return receiver.received.length >= count
  })
  return receiver.received.map(({ body }) => JSON.parse(browser.read(body)) as PushMessage)
}
const settled = () => until('all pushes to end', async () => (await queued()).every(row => row.ended_at !== null))

async function asking(api: Api, title = 'Fix the login', kind = 'approval'): Promise<Session> {
  const session = await api.createSession({ title }, 'a')
  await standIn.start(session, session.activeRunId ?? '')
  await openInteraction(accounts.test.db.database, session, { kind, deadline: null })
  await notify(session)
  return session
}

const header = (name: string, at = 0): string => {
  const raw = receiver.received[at]?.rawHeaders ?? []
  return raw[raw.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name) + 1] ?? ''
}

describe('a browser that is pushed to', () => {
  it('hears that an agent asks, encrypted, from a sender that proves who it is', async () => {
    const { api, who, browser, endpoint } = await subscribed()
    const session = await asking(api)
    const { membershipId } = who
    expect(await pushed(browser, 1)).toEqual([
      { title: 'Fix the login', body: 'Asks to be allowed', sessionId: session.id, membershipId },
    ])
    expect(receiver.received[0]).toMatchObject({ method: 'POST', path: new URL(endpoint).pathname })
    expect(header('content-encoding')).toBe('aes128gcm')
    expect(header('urgency')).toBe('high')
    expect(header('topic')).toBe(session.id.replaceAll('-', ''))
    expect(Number(header('ttl'))).toBeGreaterThan(3600)
    const { publicKey } = (await api.get<PushSubscriptionList>(path)).body
    const [, token = '', key] = /^vapid t=([^,]+), k=(.+)$/.exec(header('authorization')) ?? []
    expect(key).toBe(publicKey)
    const point = Buffer.from(publicKey, 'base64url')
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'))
    const sender = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' } })
    const [head = '', claims = '', signature = ''] = token.split('.')
    const signed = Buffer.from(`${head}.${claims}`)
    const shown = { key: sender, dsaEncoding: 'ieee-p1363' } as const
    expect(verify('sha256', signed, shown, Buffer.from(signature, 'base64url'))).toBe(true)
    const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    expect({ aud, sub }).toEqual({ aud: origin, sub: 'mailto:operator@localhost' })
    expect(exp - Date.now() / 1000).toBeLessThan(24 * 3600)
    await settled()
    expect((await api.get<PushSubscriptionList>(path)).body.subscriptions).toMatchObject([
      { id: browser.id, failing: false, pushedAt: expect.any(String) },
    ])
  })

  it('hears how a Run ended, once', async () => {
    const { api, browser } = await subscribed()
    const session = await api.createSession({ title: 'Upgrade' }, 'a')
    await standIn.end(session, session.activeRunId ?? '', { status: 'failed' })
    await notify(session)
    expect(await pushed(browser, 1)).toMatchObject([{ title: 'Upgrade', body: 'Has failed', sessionId: session.id }])
    expect(header('urgency')).toBe('normal')
    await settled()
    const later = await asking(api, 'Later')
    expect((await pushed(browser, 2)).map(({ sessionId }) => sessionId)).toEqual([session.id, later.id])
    await standIn.end(later, later.activeRunId ?? '', { status: 'completed', stopReason: 'max_turns' })
    await notify(later)
    expect((await pushed(browser, 3)).at(-1)?.body).toBe('Has stopped')
  })

  it('hears nothing of Runs that a fork has copied', async () => {
    const { api, browser } = await subscribed()
    const session = await api.createSession({ title: 'The fork' }, 'a')
    await standIn.end(session, session.activeRunId ?? '')
    // As a fork is: made after the Run that it holds had ended.
    await accounts.test.db.database.query(
      "update sessions set created_at = now() + interval '1 second' where id = $1",
      [session.id],
    )
    await notify(session)
    const later = await asking(api, 'Later')
    expect((await pushed(browser, 1)).map(({ sessionId }) => sessionId)).toEqual([later.id])
    await settled()
    expect(await queued()).toHaveLength(1)
  })

  it('hears of nothing that its person has seen, has refused, or that is not theirs', async () => {
    const { api, browser } = await subscribed({ runEnded: false })
    await asking((await accounts.person({})).api, 'Somebody else’s')
    const ended = await api.createSession({ title: 'Ended' }, 'a')
    await standIn.end(ended, ended.activeRunId ?? '')
    await notify(ended)
    const seen = await asking(api, 'Seen')
    await held()
    await api.put(`/cloud/sessions/${seen.id}/read`, { sequence: 1_000 })
    const other = await asking(api, 'Not seen')
    expect((await pushed(browser, 1)).map(({ sessionId }) => sessionId)).toEqual([other.id])
    await settled()
    expect(receiver.received).toHaveLength(1)
    expect(await queued()).toHaveLength(2)
  })

  it('hears of no request that was answered meanwhile', async () => {
    const { api, browser } = await subscribed()
    const session = await asking(api, 'Answered')
    await held()
    await accounts.test.db.database.query({
      text: `update interactions set status = 'expired', resolution = 'cancelled', ended_at = now() where session_id = $1`,
      values: [session.id],
    })
    await api.call('POST', `${path}/${browser.id}/test`)
    expect(await pushed(browser, 1)).toMatchObject([{ sessionId: null, title: 'Berth' }])
    await settled()
    expect(receiver.received).toHaveLength(1)
  })

  it.each([404, 410])('is forgotten when its push service says %i', async status => {
    const { api, browser } = await subscribed()
    receiver.answer = response => response.writeHead(status).end()
    await api.call('POST', `${path}/${browser.id}/test`)
    await until('the end', async () => (await api.get<PushSubscriptionList>(path)).body.subscriptions.length === 0)
    expect(await queued()).toEqual([])
  })

  it.each([
    ['429', { 'retry-after': '120' }],
    ['503', {}],
  ])('is tried again later after %s', async (status, headers) => {
    const { api, browser } = await subscribed()
    receiver.answer = response => response.writeHead(Number(status), headers).end()
    await api.call('POST', `${path}/${browser.id}/test`)
    await until('a try', async () => (await queued())[0]?.tries === 1)
    const { rows } = await accounts.test.db.database.query<{ wait: number }>(
      'select extract(epoch from due_at - created_at)::integer as wait from push_deliveries',
    )
    expect(rows[0]?.wait).toBeGreaterThanOrEqual(status === '429' ? 120 : 5)
    expect((await api.get<PushSubscriptionList>(path)).body.subscriptions).toMatchObject([{ failing: true }])
    receiver.answer = response => response.writeHead(201).end()
    expect(await pushed(browser, 2)).toHaveLength(2)
    await settled()
    expect((await api.get<PushSubscriptionList>(path)).body.subscriptions).toMatchObject([{ failing: false }])
  })

  it('is given up after five tries', async () => {
    const { api, browser } = await subscribed()
    receiver.answer = response => response.writeHead(500).end()
    await api.call('POST', `${path}/${browser.id}/test`)
    await pushed(browser, 5)
    await settled()
    expect(receiver.received).toHaveLength(5)
  })

  it('holds up no other one while its push service never answers', async () => {
    const [dead, alive] = [await subscribed(), await subscribed()]
    const deadPath = new URL(dead.endpoint).pathname
    receiver.answer = (response, { path: at }) => {
      if (at !== deadPath) response.writeHead(201).end()
    }
    for (let count = 0; count < 3; count++) await dead.api.call('POST', `${path}/${dead.browser.id}/test`)
    await alive.api.call('POST', `${path}/${alive.browser.id}/test`)
    const arrived = (isDead: boolean) => receiver.received.filter(({ path: at }) => (at === deadPath) === isDead)
    await until('the other push', () => arrived(false).length > 0 && arrived(true).length > 0)
    // One at a time.
    expect(arrived(true)).toHaveLength(1)
  })
})

describe('what ends a subscription', () => {
  const ends: readonly (readonly [string, string])[] = [
    ['the sign-in', 'update sign_ins set ended_at = now() where id = (select sign_in_id from push_subscriptions)'],
    [
      'the membership',
      'update memberships set revoked_at = now() where id = (select membership_id from push_subscriptions)',
    ],
    ['the person', 'update people set disabled_at = now() where id = (select person_id from push_subscriptions)'],
    ['its age', "update push_subscriptions set seen_at = now() - interval '31 days'"],
  ]
  it.each(ends)('ends with %s: what was queued is not sent, and the row goes', async (_, text) => {
    const { api } = await subscribed()
    const session = await asking(api, 'Never told')
    await held()
    await accounts.test.db.database.query(text)
    await due()
    await settled()
    expect(receiver.received).toEqual([])
    const { database } = accounts.test.db
    expect(
      await forgetSubscriptions(database, new Date(Date.now() - 30 * 86_400_000), AbortSignal.timeout(60_000)),
    ).toBe(1)
    expect(await queued()).toEqual([])
    expect(session.title).toBe('Never told')
  })

  it('goes over to whoever signs in at the same browser', async () => {
    const first = await subscribed()
    const second = await accounts.person({})
    const browser = new SubscribedBrowser()
    await second.api.put(`${path}/${browser.id}`, browser.asks(first.endpoint))
    expect((await first.api.get<PushSubscriptionList>(path)).body.subscriptions).toEqual([])
    expect((await second.api.get<PushSubscriptionList>(path)).body.subscriptions).toHaveLength(1)
  })

  it('is replaced by the same browser, and there are twenty at most', async () => {
    const { api, endpoint } = await subscribed()
    const again = new SubscribedBrowser()
    await api.put(`${path}/${again.id}`, again.asks(endpoint, { runEnded: false }))
    const list = async () => (await api.get<PushSubscriptionList>(path)).body.subscriptions
    expect(await list()).toMatchObject([{ id: again.id, needsYou: true, runEnded: false }])
    for (let count = 0; count < 20; count++) {
      const browser = new SubscribedBrowser()
      await api.put(`${path}/${browser.id}`, browser.asks(`${origin}/${count}`))
    }
    const kept: readonly PushSubscription[] = await list()
    expect(kept).toHaveLength(20)
    expect(kept.map(({ id }) => id)).not.toContain(again.id)
  })

  it('is ended by its person', async () => {
    const { api, browser } = await subscribed()
    expect(outcome(await api.call('DELETE', `${path}/${browser.id}`))).toBe('204')
    expect(outcome(await api.call('DELETE', `${path}/${browser.id}`))).toBe('404 cloud_push_subscription_not_found')
  })

  it('leaves deliveries for a while, so that nothing is told twice, and then forgets them', async () => {
    const { api, browser } = await subscribed()
    await api.call('POST', `${path}/${browser.id}/test`)
    await pushed(browser, 1)
    await settled()
    await forgetPushes(accounts.test.db.database, new Date(Date.now() - 60_000))
    expect(await queued()).toHaveLength(1)
    await forgetPushes(accounts.test.db.database, new Date(Date.now() + 60_000))
    expect(await queued()).toEqual([])
  })
})

describe('what is refused', () => {
  it.each([
    ['a private address', 'https://10.0.0.1/push'],
    ['loopback', 'https://127.0.0.1/push'],
    ['plain http', 'http://93.184.216.34/push'],
    ['a name that leads to a private address', 'https://rebound.example/push'],
    ['a name that leads nowhere', 'https://nowhere.example/push'],
    ['no URL', 'push me'],
    ['another port', 'https://push.example:8443/push'],
  ])('an endpoint at %s', async (_, endpoint) => {
    network.names.set('rebound.example', ['93.184.216.34', '169.254.169.254'])
    const { api } = await accounts.person({})
    const browser = new SubscribedBrowser()
    expect(outcome(await api.put(`${path}/${browser.id}`, browser.asks(endpoint)))).toBe('400 invalid_url')
    expect(network.dialled.filter(at => !at.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('a name that leads to a private address later', async () => {
    network.names.set('moved.example', ['93.184.216.34'])
    const { api } = await accounts.person({})
    const browser = new SubscribedBrowser()
    expect(outcome(await api.put(`${path}/${browser.id}`, browser.asks('https://moved.example/push')))).toBe('200')
    network.names.set('moved.example', ['127.0.0.1'])
    const dialled = network.dialled.length
    await api.call('POST', `${path}/${browser.id}/test`)
    await settled()
    expect(network.dialled).toHaveLength(dialled)
    expect((await api.get<PushSubscriptionList>(path)).body.subscriptions).toMatchObject([{ failing: true }])
  })

  it('a key that is none', async () => {
    const { api } = await accounts.person({})
    const browser = new SubscribedBrowser()
    const subscription = { ...browser.asks(`${origin}/x`), p256dh: Buffer.alloc(65, 4).toString('base64url') }
    expect(outcome(await api.put(`${path}/${browser.id}`, subscription))).toBe('400 invalid_request')
  })

  it('another person’s browser', async () => {
    const { browser, endpoint, api } = await subscribed()
    const { tenant } = await accounts.test.newTenant()
    for (const stranger of [
      (await accounts.person({})).api,
      (await accounts.person({ organizationId: tenant.organizationId })).api,
    ]) {
      const at = `${path}/${browser.id}`
      const missing = '404 cloud_push_subscription_not_found'
      expect(outcome(await stranger.put(at, browser.asks(endpoint)))).toBe(missing)
      expect(outcome(await stranger.call('DELETE', at))).toBe(missing)
      expect(outcome(await stranger.call('POST', `${at}/test`))).toBe(missing)
      expect((await stranger.get<PushSubscriptionList>(path)).body.subscriptions).toEqual([])
    }
    expect((await api.get<PushSubscriptionList>(path)).body.subscriptions).toHaveLength(1)
  })
})

it('keeps neither endpoints nor its private key in the open', async () => {
  const { endpoint } = await subscribed()
  const { rows } = await accounts.test.db.database.query<{ dump: string }>(
    `select (select string_agg(p::text, '') from push_subscriptions p) || (select d::text from deployment d) as dump`,
  )
  const dump = rows[0]?.dump ?? ''
  expect(dump).not.toContain(endpoint)
  expect(dump).not.toContain(Buffer.from(endpoint).toString('hex'))
  // The start of every PKCS #8 key.
  expect(dump).not.toContain('308187020100')
})
