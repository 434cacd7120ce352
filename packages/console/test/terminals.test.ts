import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import {
  connectTerminal,
  refusalOf,
  TerminalClient,
  type Ticket,
  ticketOf,
} from '@berth/testing/console/terminal-client.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let page: ConsolePage
let api: Api
let session: Session
beforeAll(async () => {
  accounts = await startAccounts({
    variables: {
      BERTH_ROLES: 'api,account,gateway,worker',
      // Each browser has its own address: ten sign-ins a minute from one are the most.
      BERTH_TRUSTED_PROXIES: '127.0.0.1',
    },
    // bound: a pause between two reads of a stream
    fixed: { streamAuthorityMs: 1000 },
  })
  const { organizationId } = accounts.test.tenant
  page = await signedIn()
  api = (await accounts.person({})).api
  session = await attached('echo kept > kept.txt')
  expect(organizationId).toBe(session.organizationId)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const clients: TerminalClient[] = []
const given: { id: string; by: ConsolePage }[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client[Symbol.asyncDispose]()
  const ids = given.map(({ id }) => id)
  for (const { id, by } of given.splice(0)) await by.call('DELETE', `/cloud/terminals/${id}`)
  // Those of people who have left end later; until then they would count towards the terminals of the sandbox.
  await db().query('update terminals set awake_until = now() where id = any ($1) and ended_at is null', [ids])
})

async function signedIn(): Promise<ConsolePage> {
  const { organizationId } = accounts.test.tenant
  const made = new ConsolePage(accounts.test.url, organizationId)
  await made.signIn(await personWithPassword(accounts.test.db.database, organizationId))
  return made
}

/** A Session whose Run has ended, with its sandbox at rest. */
async function attached(script = 'true'): Promise<Session> {
  const made = await api.createSession({ runtime: 'shell' }, script)
  await api.runEnded(made.id, made.activeRunId ?? '')
  await until('the seal', async () => (await api.session(made.id)).phase === 'idle')
  return made
}

const ask = (body: object = {}, { id } = session, by = page) => by.call('POST', `/cloud/sessions/${id}/terminals`, body)
async function ticket(body: object = {}, of = session, by = page): Promise<Ticket> {
  const answer = ticketOf(await ask(body, of, by))
  given.push({ id: answer.terminalId, by })
  return answer
}
const db = () => accounts.test.db.database

async function open(by: Ticket, options?: ConstructorParameters<typeof TerminalClient>[1]): Promise<TerminalClient> {
  const client = new TerminalClient(by, options)
  clients.push(client)
  return client.ready()
}

/** Returns the id of a terminal's shell inside the sandbox. */
async function shellOf(client: TerminalClient): Promise<string> {
  client.type('echo pid-$$-\r')
  await client.until(/pid-\d+-/)
  return /pid-(\d+)-/.exec(client.output)?.[1] ?? ''
}

const isFrozen = async ({ id }: Session) => {
  const { rows } = await db().query<{ id: string }>(
    'select id from leases where session_id = $1 and ended_at is null',
    [id],
  )
  return rows[0]?.id
}

describe('a terminal', () => {
  it('is the user of the sandbox in the workspace of the Session, with the size of the window', async () => {
    const client = await open(await ticket(), { columns: 91, rows: 33 })
    client.type('id -un; pwd; cat kept.txt; stty size; test -t 1 && echo on-a-"terminal"; env | grep -c ANTHROPIC\r')
    await client.until(/agent\r\n\/workspace\r\nkept\r\n33 91\r\non-a-terminal\r\n0\r\n/)
    client.send({ resize: { columns: 50, rows: 10 } })
    client.type('stty size\r')
    await client.until(/10 50/)
    client.type('exit 7\r')
    expect(await client.end()).toBe('exited')
    expect(client.ended?.code).toBe(7)
  })

  it('shows its last output again to whoever comes back, and to nobody else', async () => {
    const first = await ticket()
    const client = await open(first)
    client.type('echo mem"ory"\r')
    await client.until(/memory/)
    client.socket.terminate()
    const again = await open(await ticket({ terminalId: first.terminalId }))
    await again.until(/memory/)
    expect(again.scrollback).toBeGreaterThan(10)
    expect(outcome(await ask({ terminalId: first.terminalId }, session, await signedIn()))).toBe(
      '404 cloud_terminal_not_found',
    )
    expect(outcome(await ask({ terminalId: randomUUID() }))).toBe('404 cloud_terminal_not_found')
  })

  it('tells its exit to a page whose connection broke at that moment', async () => {
    const first = await ticket()
    const client = await open(first)
    const pid = await shellOf(client)
    const witness = await open(await ticket())
    // It reads no more, so it is not told.
    client.socket.pause()
    client.type('echo last-"words"; exit 9\r')
    witness.type(`while kill -0 ${pid} 2> /dev/null; do sleep 0.05; done; echo it-is-"gone"\r`)
    await witness.until(/it-is-gone/)
    client.socket.terminate()
    const again = await open(await ticket({ terminalId: first.terminalId }))
    expect(await again.end()).toBe('exited')
    expect(again.ended?.code).toBe(9)
    expect(again.output).toMatch(/last-words/)
    await until('its end', async () => (await ask({ terminalId: first.terminalId })).status === 404)
    witness.type('exit\r')
    await witness.end()
  })

  it('tells its exit to a page that types more than its shell takes', async () => {
    const first = await ticket()
    const client = await open(first)
    const pid = await shellOf(client)
    client.type('stty raw -echo; echo re"ady"; exec sleep 1000\r')
    await client.until(/ready/)
    const witness = await open(await ticket())
    // More than all buffers on the way hold: the service stops reading.
    for (let n = 0; n < 500; n += 1) client.type('x'.repeat(32 * 1024))
    witness.type(`kill -9 ${pid}; echo it-is-"killed"\r`)
    await witness.until(/it-is-killed/)
    expect(await client.end()).toBe('exited')
    expect(client.ended?.code).toBe(137)
    await until('its end', async () => (await ask({ terminalId: first.terminalId })).status === 404)
    witness.type('exit\r')
    await witness.end()
  })

  it('goes to the window that opened it last', async () => {
    const first = await ticket()
    const client = await open(first)
    const later = await open(await ticket({ terminalId: first.terminalId }))
    expect(await client.end()).toBe('moved')
    later.type('echo st"ill"\r')
    await later.until(/still/)
  })

  it('ends when its person ends it, with its shell', async () => {
    const opened = await ticket()
    const client = await open(opened)
    client.type('echo pid-$$-\r')
    await client.until(/pid-\d+-/)
    expect(outcome(await page.call('DELETE', `/cloud/terminals/${opened.terminalId}`))).toBe('204')
    expect(await client.end()).toBe('closed')
    expect(outcome(await page.call('DELETE', `/cloud/terminals/${opened.terminalId}`))).toBe(
      '404 cloud_terminal_not_found',
    )
    const witness = await open(await ticket())
    witness.type(`kill -0 ${/pid-(\d+)-/.exec(client.output)?.[1]} || echo it-is-"gone"\r`)
    await witness.until(/it-is-gone/)
  })

  it('holds a program back whose output nobody takes', async () => {
    const opened = await ticket()
    const client = await open(opened, { credit: 100_000 })
    client.type('head -c 10000000 /dev/zero | tr "\\0" x; echo all-"done"\r')
    await until('the credit to be used up', async () => client.output.length >= 100_000)
    expect(client.output.length).toBe(100_000)
    for (let left = 11_000_000; left > 0; left -= 1_000_000) client.send({ credit: 1_000_000 })
    await client.until(/all-done/)
    expect(client.output.match(/x/g)?.length).toBeGreaterThanOrEqual(10_000_000)
  })

  it.each([
    ['no message', 'hello'],
    ['a size of nothing', JSON.stringify({ resize: { columns: 0, rows: 5 } })],
    ['a credit of nothing', JSON.stringify({ credit: -1 })],
    ['a credit without bounds', JSON.stringify({ credit: 1e12 })],
  ])('is taken from a page that sends %s', async (_, sent) => {
    const client = await open(await ticket())
    client.socket.send(sent)
    expect(await client.end()).toBe('protocol')
  })
})

describe('the ticket of a terminal', () => {
  it('opens once', async () => {
    const opened = await ticket()
    await open(opened)
    expect(await refusalOf(opened)).toBe('401 invalid_or_expired_credential')
  })

  it('opens within thirty seconds', async () => {
    const opened = await ticket()
    await db().query(
      "update terminals set ticket_expires_at = ticket_expires_at - interval '30 seconds' where id = $1",
      [opened.terminalId],
    )
    expect(await refusalOf(opened)).toBe('401 invalid_or_expired_credential')
  })

  it('is void once there is another', async () => {
    const opened = await ticket()
    const later = await ticket({ terminalId: opened.terminalId })
    expect(await refusalOf(opened)).toBe('401 invalid_or_expired_credential')
    await open(later)
  })

  it('opens its own terminal alone', async () => {
    const [one, two] = [await ticket(), await ticket()]
    expect(await refusalOf({ ...one, url: two.url })).toBe('401 invalid_or_expired_credential')
  })

  it.each([
    ['of another port', 'http://127.0.0.1:1'],
    ['of another site', 'https://evil.example'],
    ['of no page', 'null'],
    ['that does not say where it is from', ''],
  ])('opens nothing for a page %s', async (_, origin) => {
    const opened = await ticket()
    expect(await refusalOf(opened, { origin })).toBe('403 cross_site_request_refused')
    await open(opened)
  })

  it.each([
    ['without a ticket', ['berth.terminal.v1']],
    ['with another protocol', (secret: string) => [`ticket.${secret}`]],
    ['with two tickets', (secret: string) => ['berth.terminal.v1', `ticket.${secret}`, 'ticket.x']],
    ['with a wrong ticket', ['berth.terminal.v1', `ticket.${'x'.repeat(43)}`]],
  ])('%s nothing opens', async (_, protocols) => {
    const opened = await ticket()
    const offered = typeof protocols === 'function' ? protocols(opened.ticket) : protocols
    expect(await refusalOf(opened, { protocols: offered })).toBe('401 invalid_or_expired_credential')
  })

  it('is given to people alone who may submit Turns to the Session', async () => {
    const { api: other, tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    expect(outcome(await stranger.api.call('POST', `/cloud/sessions/${session.id}/terminals`, {}))).toBe(
      '404 cloud_session_not_found',
    )
    const { terminalId } = await ticket()
    expect(outcome(await stranger.api.call('DELETE', `/cloud/terminals/${terminalId}`))).toBe(
      '404 cloud_terminal_not_found',
    )
    expect(outcome(await other.call('POST', `/cloud/sessions/${session.id}/terminals`, {}))).toBe(
      '401 invalid_or_expired_credential',
    )
    expect(outcome(await ask({}, { ...session, id: randomUUID() }))).toBe('404 cloud_session_not_found')
    expect(
      outcome(
        await page.call('POST', `/cloud/sessions/${session.id}/terminals`, {}, { 'sec-fetch-site': 'same-site' }),
      ),
    ).toBe('403 cross_site_request_refused')
    expect(outcome(await page.get(`/cloud/terminals/${randomUUID()}`))).toBe('405 method_not_allowed')
  })

  it('needs a workspace, and starts none', async () => {
    const { id, organizationId } = await api.createSession({ runtime: 'shell' })
    expect(outcome(await ask({}, { ...session, id, organizationId }))).toBe('409 cloud_workspace_expired')
    expect((await api.session(id)).workspace).toMatchObject({ state: expect.not.stringMatching('attached') })
  })

  it('is refused where the sandbox lies on another machine', async () => {
    const away = await attached()
    const { rows } = await db().query<{ host: string }>('select host from leases where session_id = $1', [away.id])
    const move = (host = '') => db().query('update leases set host = $2 where session_id = $1', [away.id, host])
    await move('elsewhere')
    expect(outcome(await ask({}, away))).toBe('503 cloud_terminal_unavailable')
    await move(rows[0]?.host)
  })

  it('is told to the audit log', async () => {
    const { terminalId } = await ticket()
    const { rows } = await db().query(
      "select actor_kind, target, details from audit_log where action = 'terminal.opened' and details->>'terminalId' = $1",
      [terminalId],
    )
    expect(rows).toEqual([
      { actor_kind: 'person', target: `session/${session.id}`, details: { terminalId, again: false } },
    ])
  })

  it('is refused beyond eight terminals, unless nobody looks at one of them', async () => {
    const full = await attached()
    const first = await ticket({}, full)
    for (let n = 1; n < 8; n += 1) await ticket({}, full)
    // On a slow day the first would have been given up before the last was asked for.
    await db().query("update terminals set awake_until = now() + interval '1 hour' where session_id = $1", [full.id])
    expect(outcome(await ask({}, full))).toBe('409 cloud_terminal_limit_reached')
    await db().query('update terminals set awake_until = now() where id = $1', [first.terminalId])
    await open(await ticket({}, full))
    expect(outcome(await ask({ terminalId: first.terminalId }, full))).toBe('404 cloud_terminal_not_found')
  })
})

describe('an open terminal ends', () => {
  it('with the sign-in of its browser', async () => {
    const own = await signedIn()
    const client = await open(await ticket({}, session, own))
    await own.call('POST', '/cloud/auth/sign-out', {})
    expect(await client.end()).toBe('access_ended')
  })

  it('with the sign-in of its browser, although another browser of its person asked for it', async () => {
    const { organizationId } = accounts.test.tenant
    const person = await personWithPassword(db(), organizationId)
    const [own, other] = [
      new ConsolePage(accounts.test.url, organizationId),
      new ConsolePage(accounts.test.url, organizationId),
    ]
    for (const each of [own, other]) await each.signIn(person)
    const opened = await ticket({}, session, own)
    const client = await open(opened)
    const never = await ticket({ terminalId: opened.terminalId }, session, other)
    await own.call('POST', '/cloud/auth/sign-out', {})
    expect(await client.end()).toBe('access_ended')
    // The page is told before the row ends.
    await until('the end of the terminal', async () => {
      const { rows } = await db().query('select from terminals where id = $1 and ended_at is not null', [
        opened.terminalId,
      ])
      return rows.length === 1
    })
    expect(await refusalOf(never)).toBe('401 invalid_or_expired_credential')
  })

  it('for a browser once another one of its person came with a ticket, even if that one opens nothing', async () => {
    const { organizationId } = accounts.test.tenant
    const person = await personWithPassword(db(), organizationId)
    const [own, other] = [
      new ConsolePage(accounts.test.url, organizationId),
      new ConsolePage(accounts.test.url, organizationId),
    ]
    for (const each of [own, other]) await each.signIn(person)
    const opened = await ticket({}, session, own)
    const client = await open(opened)
    const silent = connectTerminal(await ticket({ terminalId: opened.terminalId }, session, other))
    expect(await client.end()).toBe('moved')
    silent.terminate()
  })

  it('not when its person proves again who they are', async () => {
    const { organizationId } = accounts.test.tenant
    const person = await personWithPassword(db(), organizationId)
    const own = new ConsolePage(accounts.test.url, organizationId)
    await own.signIn(person)
    const client = await open(await ticket({}, session, own))
    const { cookie } = own
    await own.stepUp(person)
    expect(own.cookie).not.toBe(cookie)
    const deadline = performance.now() + 3_000
    await until('some looks at its rights', async () => performance.now() > deadline || client.ended !== null)
    client.type('echo st"ill"\r')
    await client.until(/still/)
  })

  it('before its shell is shown, if its person lost access meanwhile', async () => {
    const own = await signedIn()
    const opened = await ticket({}, session, own)
    const { user } = await own.identity()
    const leave = () => db().query('update memberships set revoked_at = now() where person_id = $1', [user.id])
    const client = new TerminalClient(opened, { wait: async () => void (await leave()) })
    clients.push(client)
    expect(await client.end()).toBe('access_ended')
    expect(client.scrollback).toBeNull()
  })

  it('with the sign-in of its browser although nobody looks, with its shell', async () => {
    const own = await signedIn()
    const client = await open(await ticket({}, session, own))
    client.type('echo pid-$$-\r')
    await client.until(/pid-\d+-/)
    client.socket.terminate()
    await own.call('POST', '/cloud/auth/sign-out', {})
    const witness = await open(await ticket())
    const pid = /pid-(\d+)-/.exec(client.output)?.[1]
    witness.type(`while kill -0 ${pid} 2> /dev/null; do sleep 0.2; done; echo it-is-"gone"\r`)
    await witness.until(/it-is-gone/)
  })

  it('with the membership of its person', async () => {
    const own = await signedIn()
    const client = await open(await ticket({}, session, own))
    const { user } = await own.identity()
    await db().query('update memberships set revoked_at = now() where person_id = $1', [user.id])
    expect(await client.end()).toBe('access_ended')
  })

  it('with its lease', async () => {
    const short = await attached()
    const client = await open(await ticket({}, short))
    await api.call('DELETE', `/v1/sessions/${short.id}`)
    expect(await client.end()).toBe('workspace_lost')
  })
})

describe('the sandbox of a terminal', () => {
  it('renews its lease when somebody types, and not when somebody watches', async () => {
    const own = await attached()
    const expires = async () => (await api.session(own.id)).workspace
    const client = await open(await ticket({}, own))
    const before = JSON.stringify(await expires())
    await db().query("update leases set expires_at = expires_at - interval '60 seconds' where session_id = $1", [
      own.id,
    ])
    const watched = JSON.stringify(await expires())
    expect(watched).not.toBe(before)
    client.send({ resize: { columns: 81, rows: 25 } })
    client.send({ credit: 1000 })
    await client.until(/\$|#/)
    expect(JSON.stringify(await expires())).toBe(watched)
    client.type('echo ty"ped"\r')
    await client.until(/typed/)
    await until('the lease to move', async () => JSON.stringify(await expires()) !== watched)
  })

  it('does not renew its lease for what is typed before there is a terminal', async () => {
    const own = await attached()
    const touched = async () => (await db().query('select expires_at from leases where session_id = $1', [own.id])).rows
    const opened = await ticket({}, own)
    const before = await touched()
    const socket = connectTerminal(opened)
    await once(socket, 'open')
    socket.send(Buffer.from('x'))
    socket.send('no message')
    await once(socket, 'close')
    const typed = await db().query('select 1 from terminals where id = $1 and typed_at is not null', [
      opened.terminalId,
    ])
    expect(typed.rows).toEqual([])
    expect(await touched()).toEqual(before)
  })

  it('is sealed with what was done there, before it goes', async () => {
    const own = await attached('echo first > file.txt')
    const opened = await ticket({}, own)
    const client = await open(opened)
    client.type('echo second > file.txt; echo wri"tten"\r')
    await client.until(/written/)
    await page.call('DELETE', `/cloud/terminals/${opened.terminalId}`)
    const sealed = async () => {
      const { rows } = await db().query(
        'select 1 from terminals t join checkpoints c on c.session_id = t.session_id where t.id = $1 and c.sealed_at > t.ended_at',
        [opened.terminalId],
      )
      return rows.length > 0
    }
    await until('the seal', sealed)
    await until('an idle Session', async () => (await api.session(own.id)).phase === 'idle')
    await db().query("update leases set expires_at = now() - interval '1 second' where session_id = $1", [own.id])
    await until('the end of the lease', async () => (await isFrozen(own)) === undefined)
    const restored = await api.call('PUT', `/v1/sessions/${own.id}/workspace`)
    expect(restored.status).toBe(200)
    const after = await open(await ticket({}, own))
    after.type('cat file.txt\r')
    await after.until(/second\r\n/)
  })

  it('goes on with its terminal while a Run begins and ends', async () => {
    const own = await attached()
    const client = await open(await ticket({}, own))
    client.type('echo bef"ore"\r')
    await client.until(/before/)
    const { run } = await api.submitTurn(own.id, 'echo from-the-agent > agent.txt')
    await api.runEnded(own.id, run.id)
    client.type('cat agent.txt\r')
    await client.until(/from-the-agent\r\n/)
  })
})
