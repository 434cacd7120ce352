import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session, Trigger, TriggerDelivery, Turn } from '@berth/contract'
import { nowSeconds, postHook, signing } from '@berth/testing/posted-hooks.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { derivedId } from '../src/derived-id.ts'

const stack = new AsyncDisposableStack()
let test: TestService
beforeAll(async () => {
  // Nobody begins Runs here.
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
})
afterAll(() => stack.disposeAsync())

type Scheme = keyof typeof signing
type Hooked = Trigger & { hook: NonNullable<Trigger['hook']>; secret: string }

async function make(
  scheme: Scheme,
  more: { hook?: object; message?: string; thread?: string[] } = {},
): Promise<Hooked> {
  const { hook, ...rest } = more
  const path = `/v1/triggers/${randomUUID()}`
  const draft = { name: 'Hooked', message: 'Look at {{title}}', hook: { scheme, ...hook }, ...rest }
  const made = await test.api.put<{ trigger: Trigger }>(path, draft)
  expect(outcome(made)).toBe('201')
  expect(made.body.trigger.hook).toMatchObject({ scheme, hasSecret: false })
  const { secret } = await rotate(path, {})
  return { ...(await test.api.get<{ trigger: Hooked }>(path)).body.trigger, secret }
}

async function rotate(path: string, body: object) {
  const answer = await test.api.call<{ secret: string; url: string; previousSecretUntil?: string }>(
    'POST',
    `${path}/secret`,
    body,
  )
  expect(outcome(answer)).toBe('201')
  return answer.body
}

interface Sent {
  readonly key?: string
  readonly secret?: string
  readonly at?: number
  readonly headers?: Record<string, string>
}

/** Posts a body as the generic scheme signs it. */
function send({ hook, secret }: Hooked, payload: unknown, sent: Sent = {}) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const signed = signing.svc(sent.secret ?? secret, body, sent.at ?? nowSeconds())
  return postHook(hook.url, body, { ...signed, 'svc-delivery': sent.key ?? randomUUID(), ...sent.headers })
}

const deliveries = async ({ id }: Trigger) =>
  (await test.api.get<{ deliveries: TriggerDelivery[] }>(`/v1/triggers/${id}/deliveries`)).body.deliveries
const ended = (trigger: Trigger, key: string) =>
  until('the delivery to end', async () => {
    const found = (await deliveries(trigger)).find(each => each.key === key)
    return found !== undefined && found.status !== 'waiting' && found
  })
const turnsOf = async (sessionId: string) =>
  (await test.api.get<{ turns: Turn[] }>(`/v1/sessions/${sessionId}/turns`)).body.turns
async function made({ id }: Trigger): Promise<readonly Session[]> {
  const path = `/v1/sessions?limit=100&origin.objectType=trigger&origin.objectId=${id}`
  return (await test.api.get<{ sessions: Session[] }>(path)).body.sessions
}

const refused = { status: 401, body: { error: 'invalid_signature' } }

describe('a hook', () => {
  it('makes one Session of what is posted, although ten come at once and again later', async () => {
    const trigger = await make('svc')
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => send(trigger, { title: 'a fault' }, { key: 'fault-1' })),
    )
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: { delivery: { key: 'fault-1' } } })
    const { sessionId } = await ended(trigger, 'fault-1')
    expect((await send(trigger, { other: 1 }, { key: 'fault-1' })).body.delivery).toMatchObject({ status: 'admitted' })
    expect((await made(trigger)).map(({ id }) => id)).toEqual([sessionId])
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual(['Look at a fault'])
  })

  it('lies outside of what takes a bearer, and answers at the address below /v1 that it had before', async () => {
    const trigger = await make('svc')
    const url = new URL(trigger.hook.url)
    expect(url.pathname).toMatch(/^\/hooks\/[0-9a-f-]{36}$/)
    const before = { ...trigger, hook: { ...trigger.hook, url: `${url.origin}/v1${url.pathname}` } }
    expect(await send(before, { title: 'x' }, { key: 'older' })).toMatchObject({ status: 202 })
    expect(await send(trigger, { title: 'x' }, { key: 'older' })).toMatchObject({ status: 202 })
    for (const path of [`/v1${url.pathname}`, url.pathname]) {
      const { status, headers } = await fetch(`${url.origin}${path}`)
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('answers what is not signed for it as if it did not exist', async () => {
    const trigger = await make('svc')
    const other = await make('svc')
    const at = nowSeconds()
    const nowhere = { ...trigger, hook: { ...trigger.hook, url: `${test.url}/hooks/${randomUUID()}` } }
    const unsigned = { 'svc-signature': '' }
    const none = await send(nowhere, { title: 'x' })
    expect(none).toMatchObject(refused)
    for (const answer of [
      await send(trigger, { title: 'x' }, { secret: other.secret }),
      await send(trigger, { title: 'x' }, { headers: unsigned }),
      await send(trigger, { title: 'x' }, { at: at - 301 }),
      await send(trigger, { title: 'x' }, { at: at + 330 }),
      await send(trigger, { title: 'x' }, { headers: signing.svc(trigger.secret, '{"title":"y"}', at) }),
      await send(
        trigger,
        { title: 'x' },
        { headers: signing.github(trigger.secret, '{"title":"x"}'), secret: 'wrong' },
      ),
      // Nothing is said of a body either.
      await send(trigger, 'no JSON', { secret: other.secret }),
      await send(nowhere, 'no JSON'),
    ]) {
      expect({ status: answer.status, body: answer.body }).toEqual({ status: none.status, body: none.body })
    }
    expect(await deliveries(trigger)).toEqual([])
    // It is no bearer's either.
    expect(
      (
        await send(
          trigger,
          { title: 'x' },
          { secret: other.secret, headers: { authorization: `Bearer ${test.tenant.apiKey}` } },
        )
      ).status,
    ).toBe(401)
    await test.db.database.query('update triggers set secret = null where id = $1', [trigger.id])
    expect(await send(trigger, { title: 'x' })).toMatchObject(refused)
  })

  it('takes text that no database keeps, with U+FFFD in place of what is wrong', async () => {
    const trigger = await make('svc', { thread: ['thread'] })
    const sent = { title: 'a\0b\ud800c', thread: 'a\0' }
    expect(await send(trigger, sent, { key: 'odd' })).toMatchObject({ status: 202 })
    const { sessionId } = await ended(trigger, 'odd')
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual(['Look at a\ufffdb\ufffdc'])
    expect((await send(trigger, { ...sent, title: 'd' })).body.delivery).toMatchObject({ sessionId })
  })

  it('says which field or key is missing, and takes no body that is too large', async () => {
    const trigger = await make('svc')
    expect((await send(trigger, { titel: 'x' })).body.issues).toEqual([
      { path: ['payload', 'title'], message: expect.stringContaining('{{title?}}') },
    ])
    expect((await send(trigger, { title: 'x' }, { key: '' })).body.issues?.[0]?.message).toContain('svc-delivery')
    expect((await send(trigger, 'no JSON')).body.error).toBe('malformed_request_body')
    expect((await send(trigger, '[]')).body.error).toBe('invalid_request')
    expect((await send(trigger, { title: 'x'.repeat(1_100_000) })).status).toBe(413)
    expect((await send(trigger, { title: 'x' }, { headers: { 'content-type': 'text/plain' } })).status).toBe(415)
    const byField = await make('svc', {
      hook: { key: { field: 'event.id' }, where: { 'event.kind': 'made', 'event.bot': null } },
    })
    const event = { id: 7, kind: 'made' }
    expect((await send(byField, { title: 'x', event: { ...event, id: {} } })).body.issues?.[0]?.path).toEqual([
      'event',
      'id',
    ])
    expect((await send(byField, { title: 'x', event: { ...event, kind: 'gone' } })).body.ignored).toContain(
      'event.kind',
    )
    expect((await send(byField, { title: 'x', event: { ...event, bot: 'b' } })).body.ignored).toContain('event.bot')
    expect((await send(byField, { title: 'x', event })).body.delivery?.key).toBe('7')
  })

  it('takes the secret before for a while, and shows none again', async () => {
    const trigger = await make('svc')
    const path = `/v1/triggers/${trigger.id}`
    const next = await rotate(path, { overlapSeconds: 60 })
    expect(next).toMatchObject({ url: trigger.hook.url, previousSecretUntil: expect.any(String) })
    for (const secret of [trigger.secret, next.secret]) {
      expect((await send(trigger, { title: 'x' }, { secret })).status).toBe(202)
    }
    const last = await rotate(path, { secret: 'chosen-elsewhere', overlapSeconds: 0 })
    expect(last.secret).toBe('chosen-elsewhere')
    for (const secret of [trigger.secret, next.secret])
      expect(await send(trigger, { title: 'x' }, { secret })).toMatchObject(refused)
    expect((await send(trigger, { title: 'x' }, { secret: last.secret })).status).toBe(202)
    expect((await test.api.get(path)).text).not.toContain(last.secret)
    const { rows } = await test.db.database.query('select secret, previous_secret from triggers where id = $1', [
      trigger.id,
    ])
    for (const sealed of Object.values(rows[0] ?? {})) expect(String(sealed)).not.toContain('chosen')
    const stranger = (await test.newTenant()).api
    expect(outcome(await stranger.call('POST', `${path}/secret`, {}))).toBe('404 trigger_not_found')
  })

  it('goes on with the Session of a conversation, in order and once the Run before has ended', async () => {
    const trigger = await make('svc', { message: '{{text}}', thread: ['thread', 'id'] })
    await send(trigger, { text: 'first', id: '17.5' }, { key: 'a' })
    const { sessionId } = await ended(trigger, 'a')
    for (const [key, text] of [
      ['b', 'second'],
      ['c', 'third'],
    ] as const) {
      const { body } = await send(trigger, { text, id: key, thread: '17.5' }, { key })
      expect(body.delivery).toMatchObject({ sessionId, thread: '17.5' })
    }
    await send(trigger, { text: 'elsewhere', id: '18' }, { key: 'd' })
    expect((await ended(trigger, 'd')).sessionId).not.toBe(sessionId)
    for (const key of ['b', 'c']) {
      expect((await deliveries(trigger)).find(each => each.key === key)?.status).toBe('waiting')
      await test.api.call(
        'POST',
        `/v1/sessions/${sessionId}/runs/${(await test.api.session(sessionId)).activeRunId}/cancel`,
      )
      expect(await ended(trigger, key)).toMatchObject({ status: 'admitted' })
    }
    // A process that is killed between the two transactions leaves this.
    await test.db.database.query(
      "update trigger_deliveries set status = 'waiting', message = 'third', due_at = created_at where trigger_id = $1 and key = 'c'",
      [trigger.id],
    )
    await test.api.call(
      'POST',
      `/v1/sessions/${sessionId}/runs/${(await test.api.session(sessionId)).activeRunId}/cancel`,
    )
    expect(await ended(trigger, 'c')).toMatchObject({ status: 'admitted' })
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual(['first', 'second', 'third'])
    expect(await made(trigger)).toHaveLength(2)
  })

  it('keeps the order of a conversation, although its first delivery is put off', async () => {
    const trigger = await make('svc', { message: '{{text}}', thread: ['thread'] })
    const sessionId = derivedId('thread', trigger.id, '9')
    // A try that failed for a while puts a delivery off.
    await test.db.database.query(
      `insert into trigger_deliveries
         (organization_id, trigger_id, key, message, thread, session_id, status, created_at, due_at)
       values ($1, $2, 'a', 'first', '9', $3, 'waiting', now() - interval '1 minute', '2040-01-01')`,
      [test.tenant.organizationId, trigger.id, sessionId],
    )
    const { body } = await send(trigger, { text: 'second', thread: '9' }, { key: 'b' })
    expect(body.delivery).toMatchObject({ sessionId })
    // The oldest that is due goes first, so whoever took this one has looked at the other.
    await send(trigger, { text: 'elsewhere', thread: '10' }, { key: 'c' })
    await ended(trigger, 'c')
    expect((await deliveries(trigger)).find(each => each.key === 'b')?.status).toBe('waiting')
    await test.db.database.query("update trigger_deliveries set due_at = now() where trigger_id = $1 and key = 'a'", [
      trigger.id,
    ])
    await ended(trigger, 'a')
    const { activeRunId } = await test.api.session(sessionId)
    await test.api.call('POST', `/v1/sessions/${sessionId}/runs/${activeRunId}/cancel`)
    await ended(trigger, 'b')
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual(['first', 'second'])
  })

  it('is told to come later while the installation has a thousand deliveries that wait', async () => {
    const trigger = await make('svc')
    const database = test.db.database
    // They are due in a far year.
    await database.query(
      `insert into trigger_deliveries (organization_id, trigger_id, key, message, status, created_at, due_at)
       select $1, $2, n::text, 'x', 'waiting', now(), '2040-01-01' from generate_series(1, 1000) n`,
      [test.tenant.organizationId, trigger.id],
    )
    const full = await send(trigger, { title: 'x' })
    expect(full).toMatchObject({ status: 429, body: { error: 'trigger_backlog_full' } })
    expect(full.headers.get('retry-after')).toBe('30')
    expect(outcome(await test.api.put(`/v1/triggers/${trigger.id}/deliveries/k`, { payload: { title: 'x' } }))).toBe(
      '429 trigger_backlog_full',
    )
    // One that is known is answered, and nobody else's is refused.
    expect((await send(trigger, { title: 'x' }, { key: '7' })).status).toBe(202)
    const { tenant, api } = await test.newTenant()
    const path = `/v1/triggers/${randomUUID()}`
    await api.put(path, { name: 'x', message: 'y' })
    expect(outcome(await api.put(`${path}/deliveries/k`, {}))).toBe('202')
    await database.query('delete from trigger_deliveries where trigger_id = $1', [trigger.id])
    expect((await send(trigger, { title: 'x' })).status).toBe(202)
    expect(tenant.organizationId).not.toBe(test.tenant.organizationId)
  })

  it('is no hook once its installation is revoked, and off with its trigger', async () => {
    const trigger = await make('svc')
    const path = `/v1/triggers/${trigger.id}`
    const draft = { name: 'x', message: 'y', hook: { scheme: 'svc' } }
    await test.api.put(path, { ...draft, enabled: false })
    expect((await send(trigger, {})).body.error).toBe('trigger_disabled')
    await test.api.put(path, draft)
    const revoke = (at: string) =>
      test.db.database.query(`update installations set revoked_at = ${at} where id = $1`, [test.tenant.installationId])
    await revoke('now()')
    expect(await send(trigger, {})).toMatchObject(refused)
    await revoke('null')
    await test.api.put(path, { name: 'x', message: 'y' })
    expect(await send(trigger, {})).toMatchObject(refused)
  })
})

/** The trigger of this name as the page of the documentation writes it. */
function documented(name: string): object {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/triggers.md'), 'utf8')
  const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, block = '']) => JSON.parse(block))
  return blocks.find(block => block.name === name)
}

async function makeDocumented(name: string, secret: string): Promise<Hooked> {
  const path = `/v1/triggers/${randomUUID()}`
  expect(outcome(await test.api.put(path, documented(name)))).toBe('201')
  await rotate(path, { secret })
  return { ...(await test.api.get<{ trigger: Hooked }>(path)).body.trigger, secret }
}

describe('the documented trigger', () => {
  it('of Slack answers the challenge, and continues threads with their mentions', async () => {
    const { hook, secret, ...trigger } = await makeDocumented('Slack', '8f742231b10e8888abcd99yyyzzz85a5')
    const post = (event: object) => {
      const body = JSON.stringify(event)
      return postHook(hook.url, body, signing.slack(secret, body, nowSeconds()))
    }
    const question = {
      token: 'Jhj5dZrVaK7ZwHHjRyZWjbDl',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
      type: 'url_verification',
    }
    expect(await post(question)).toMatchObject({ status: 200, body: { challenge: question.challenge } })
    expect(await postHook(hook.url, JSON.stringify(question), {})).toMatchObject(refused)
    const mention = (event_id: string, event: object) =>
      post({
        token: 'ZZZZZZWSxiZZZ2yIvs3peJ',
        team_id: 'T123ABC456',
        api_app_id: 'A123ABC456',
        event: {
          type: 'app_mention',
          user: 'U123ABC456',
          channel: 'C123ABC456',
          event_ts: '1515449522000016',
          ...event,
        },
        type: 'event_callback',
        event_id,
        event_time: 1515449522000016,
        authed_users: ['U0LAN0Z89'],
      })
    const first = await mention('Ev123ABC456', {
      text: 'What is the hour of the pearl, <@U0LAN0Z89>?',
      ts: '1515449522.000016',
    })
    const again = await mention('Ev123ABC456', {
      text: 'What is the hour of the pearl, <@U0LAN0Z89>?',
      ts: '1515449522.000016',
    })
    const later = await mention('Ev123ABC457', {
      text: 'and now?',
      ts: '1515449530.000017',
      thread_ts: '1515449522.000016',
    })
    expect([first, again, later].map(({ status }) => status)).toEqual([202, 202, 202])
    const { sessionId } = await ended({ hook, ...trigger }, 'Ev123ABC456')
    expect(later.body.delivery?.sessionId).toBe(sessionId)
    expect((await mention('Ev123ABC458', { text: 'me', ts: '1', bot_id: 'B1' })).body.ignored).toContain('event.bot_id')
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual([
      '<@U123ABC456> asks in C123ABC456:\n\nWhat is the hour of the pearl, <@U0LAN0Z89>?',
    ])
  })

  it('of Linear keeps an issue to one Session, and takes no replay under another key', async () => {
    const { hook, secret, ...trigger } = await makeDocumented('Linear', 'lin_wh_ZmFrZVNlY3JldEZvclRlc3Rz')
    const comment = (id: string, text: string, webhookTimestamp = Date.now()) =>
      JSON.stringify({
        action: 'create',
        actor: { id: 'b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba', type: 'user', name: 'Ada' },
        createdAt: '2020-01-23T12:53:18.084Z',
        data: {
          id,
          createdAt: '2020-01-23T12:53:18.084Z',
          body: text,
          issueId: '539068e2-ae88-4d09-bd75-22eb4a59612f',
          userId: 'aacdca22-6266-4c0a-ab3c-8fa70a26765c',
          issue: { id: '539068e2-ae88-4d09-bd75-22eb4a59612f', title: 'It hangs' },
        },
        type: 'Comment',
        url: 'https://linear.app/issue/LIN-1778/foo-bar#comment-77217de3',
        webhookId: '000042e3-d123-4980-b49f-8e140eef9329',
        webhookTimestamp,
      })
    const post = (body: string, key: string = randomUUID()) =>
      postHook(hook.url, body, { ...signing.linear(secret, body), 'linear-delivery': key, 'linear-event': 'Comment' })
    const body = comment('2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9', 'Indeed, I think so')
    const first = await post(body)
    expect(first.status).toBe(202)
    expect((await post(body)).body.delivery?.key).toBe(first.body.delivery?.key)
    const { sessionId } = await ended({ hook, ...trigger }, first.body.delivery?.key ?? '')
    expect((await post(comment('2', 'And more'))).body.delivery?.sessionId).toBe(sessionId)
    expect(await post(comment('3', 'late', Date.now() - 301_000))).toMatchObject(refused)
    expect(await deliveries({ hook, ...trigger })).toHaveLength(2)
    expect((await turnsOf(sessionId)).map(({ message }) => message)).toEqual([
      ' comments on It hangs (https://linear.app/issue/LIN-1778/foo-bar#comment-77217de3):\n\nIndeed, I think so',
    ])
  })
})
