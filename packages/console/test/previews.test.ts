import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { PortList, PortPreview, Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { askHost as ask } from '@berth/testing/console/ask-host.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Echoes each request on port 3000, over HTTP and over a WebSocket, without a library. */
const server = `
const { createHash } = require('node:crypto')
const held = []
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/hold') return held.push(response)
  if (request.url === '/held') return response.end(String(held.filter(each => !each.destroyed).length))
  let body = ''
  request.on('data', chunk => { body += chunk })
  request.on('end', () => {
    response.setHeader('Set-Cookie', ['theme=dark; Domain=localhost', 'svc_preview=stolen'])
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
  })
})
server.on('upgrade', (request, socket, head) => {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', chunk => socket.write(chunk)).on('error', () => {})
})
server.listen(3000, '127.0.0.1')
`

/** Listens on port 3001, and accepts nothing once its queue is full. */
const full = `
const net = require('node:net')
const server = net.createServer()
server.listen({ port: 3001, host: '127.0.0.1', backlog: 1 }, () => {
  for (let n = 0; n < 8; n += 1) net.connect(3001, '127.0.0.1').on('error', () => {})
  process.nextTick(() => process.kill(process.pid, 'SIGSTOP'))
})
`

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let session: Session
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  api = (await accounts.person({})).api
  const script = [
    `cat > server.cjs <<'END'${server}END`,
    `cat > full.cjs <<'END'${full}END`,
    'node server.cjs & node full.cjs & while [ ! -e stop ]; do sleep 0.1; done',
  ].join('\n')
  session = await api.createSession({ runtime: 'shell' }, script)
  await until('both ports', async () => (await ports()).join() === '3000,3001')
})
afterAll(() => stack.disposeAsync())

const pathOf = (rest: string) => `/cloud/sessions/${session.id}/ports${rest}`
const ports = async () => {
  const answer = await api.get<PortList>(pathOf(''))
  return answer.status === 200 ? answer.body.ports : []
}
const opened = async (port = 3000): Promise<URL> => {
  const answer = await api.call<PortPreview>('POST', pathOf(`/${port}/preview`))
  expect(answer.status, answer.text).toBe(201)
  return new URL(answer.body.url)
}

/** Enters a preview and returns its origin with the cookie. */
async function entered(): Promise<{ origin: string; cookie: string }> {
  const url = await opened()
  const { status, headers } = await ask(url)
  expect([status, headers.location]).toEqual([303, '/'])
  const [cookie = ''] = headers['set-cookie'] ?? []
  expect(cookie).toMatch(/^svc_preview=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  return { origin: url.origin, cookie: cookie.split(';')[0] ?? '' }
}

describe('the ports of a sandbox', () => {
  it('are told to who may read the Session, and to nobody else', async () => {
    expect((await api.get<PortList>(pathOf(''))).body).toEqual({ ports: [3000, 3001], atRest: false, canPreview: true })
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/3000/preview'],
      ['DELETE', '/3000/preview'],
    ] as const) {
      expect(outcome(await stranger.api.call(method, pathOf(path)))).toBe('404 cloud_session_not_found')
    }
    expect(outcome(await api.call('POST', pathOf('/65536/preview')))).toBe('400 invalid_path_parameter')
    const fresh = await api.createSession()
    expect(outcome(await api.get(`/cloud/sessions/${fresh.id}/ports`))).toBe('409 cloud_workspace_expired')
  })
})

describe('a preview', () => {
  it('has a host that no other has, and a link that opens it once', async () => {
    const [one, other] = [await opened(), await opened()]
    expect(one.hostname).toMatch(/^3000-[a-z2-7]{20}\.localhost$/)
    expect(one.port).toBe(new URL(accounts.test.url).port)
    expect(other.hostname).not.toBe(one.hostname)
    const { rows } = await accounts.test.db.database.query("select from audit_log where action = 'preview.opened'")
    expect(rows.length).toBeGreaterThanOrEqual(2)
    const wrong = new URL(`${other.pathname}${other.search}`, one)
    expect((await ask(wrong)).status).toBe(403)
    expect((await ask(one)).status).toBe(303)
    const again = await ask(one)
    expect([again.status, again.text]).toEqual([403, expect.stringContaining('used up')])
    expect(again.headers['set-cookie']).toBeUndefined()
  })

  it('has a link for a minute', async () => {
    const [late, kept] = [await opened(), await opened()]
    const age = (at: URL, seconds: number) =>
      accounts.test.db.database.query(
        `update previews set ticket_expires_at = ticket_expires_at - make_interval(secs => $2) where label = $1`,
        [at.hostname.slice(5, 25), seconds],
      )
    await age(late, 60)
    await age(kept, 30)
    expect((await ask(late)).status).toBe(403)
    expect((await ask(kept)).status).toBe(303)
  })

  it('passes requests on, without anything of the service’s own', async () => {
    const { origin, cookie } = await entered()
    const headers = {
      cookie: `${cookie}; a=1; __Host-svc_console=secret; svc_console_x=secret`,
      authorization: 'Bearer secret',
      origin,
      'content-type': 'text/plain',
    }
    const answer = await ask(`${origin}/some/where?x=%2e`, { method: 'POST', headers, body: 'hello' })
    expect(answer.status).toBe(200)
    const seen = JSON.parse(answer.text)
    expect(seen).toMatchObject({ method: 'POST', url: '/some/where?x=%2e', body: 'hello' })
    expect(seen.headers).toMatchObject({ host: 'localhost:3000', cookie: 'a=1', origin: 'http://localhost:3000' })
    expect(answer.text).not.toContain('secret')
    expect(seen.headers.authorization).toBeUndefined()
    expect(answer.headers['set-cookie']).toEqual(['theme=dark'])
  })

  it('lets nobody in without its own cookie', async () => {
    const [one, other] = [await entered(), await entered()]
    expect((await ask(`${one.origin}/`)).status).toBe(403)
    expect((await ask(`${one.origin}/`, { headers: { cookie: other.cookie } })).status).toBe(403)
    const { port, hostname } = new URL(one.origin)
    const otherPort = `http://${hostname.replace(/^3000/, '3001')}:${port}/`
    expect((await ask(otherPort, { headers: { cookie: one.cookie } })).status).toBe(403)
    expect((await ask(`http://x.localhost:${port}/v1/sessions`)).status).toBe(404)
    // The service itself is at its own hosts.
    expect((await ask(`http://localhost:${port}/healthz`)).status).toBe(200)
    expect((await ask(`${one.origin}/healthz`)).status).toBe(403)
  })

  it('passes WebSockets, to who has the cookie', async () => {
    const { origin, cookie } = await entered()
    const { host, port } = new URL(origin)
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const handshake = request({ host: '127.0.0.1', port, headers: { host, cookie, ...upgrade, ...key } })
    handshake.on('upgrade', (_, socket) => {
      socket.once('data', chunk => {
        resolve(chunk.toString())
        socket.destroy()
      })
      socket.write('hello')
    })
    handshake.on('error', reject).end()
    expect(await promise).toBe('hello')
    expect((await ask(`${origin}/`, { headers: { ...upgrade, ...key } })).status).toBe(403)
  })

  it('ends an open WebSocket when somebody closes it', async () => {
    const { origin, cookie } = await entered()
    const { host, port } = new URL(origin)
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    const handshake = request({ host: '127.0.0.1', port, headers: { host, cookie, ...upgrade } }).end()
    const [, socket] = await once(handshake, 'upgrade')
    const closed = once(socket.resume(), 'close')
    expect((await api.call('DELETE', pathOf('/3000/preview'))).status).toBe(204)
    await closed
  })

  it('has as many connections as it may have and not one more, WebSockets among them', async () => {
    const { origin, cookie } = await entered()
    const { host, port } = new URL(origin)
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    const sent = Array.from({ length: 80 }, (_, n) =>
      request({
        ...{ host: '127.0.0.1', port, path: '/hold', agent: false },
        headers: { host, cookie, ...(n < 8 && upgrade) },
      }).end(),
    )
    let refused = 0
    let joined = 0
    for (const each of sent) {
      each.on('error', () => {})
      each.on('upgrade', () => {
        joined += 1
      })
      each.on('response', response => {
        if (response.resume().statusCode === 503) refused += 1
      })
    }
    const other = await entered()
    const held = async () => Number((await ask(`${other.origin}/held`, { headers: { cookie: other.cookie } })).text)
    await until('every answer', async () => refused === 16 && (await held()) + joined === 64)
    expect((await ask(`${origin}/`, { headers: { cookie } })).status).toBe(503)
    for (const each of sent) each.destroy()
    await until('places that came back', async () => (await ask(`${origin}/`, { headers: { cookie } })).status === 200)
    await until('no connection that is held', async () => (await held()) === 0)
  })

  it('answers whatever path is asked for', async () => {
    const { hostname, port } = await opened()
    const handshake = request({ host: '127.0.0.1', port, path: '//', headers: { host: `${hostname}:${port}` } }).end()
    const [response] = await once(handshake, 'response')
    expect(response.resume().statusCode).toBe(403)
  })

  it('says that nothing listens', async () => {
    const url = await opened(3999)
    const { headers } = await ask(url)
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const answer = await ask(`${url.origin}/`, { headers: { cookie } })
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining('Nothing listens on port 3999')])
    // Nor does it take a program that accepts nothing for a sandbox that stands still.
    const stuck = await opened(3001)
    const stuckCookie = (await ask(stuck)).headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const stopped = await ask(`${stuck.origin}/`, { headers: { cookie: stuckCookie } })
    expect([stopped.status, stopped.text]).toEqual([502, expect.stringContaining('Nothing listens on port 3001')])
    // The supervisor's own port is the sandbox's way out.
    const own = await opened(3128)
    expect((await ask(own)).status).toBe(303)
  })

  it('ends when somebody closes it, and with the membership', async () => {
    const closed = await entered()
    expect((await api.call('DELETE', pathOf('/3000/preview'))).status).toBe(204)
    expect((await ask(`${closed.origin}/`, { headers: { cookie: closed.cookie } })).status).toBe(403)
    const leaver = await accounts.person({})
    const url = new URL((await leaver.api.call<PortPreview>('POST', pathOf('/3000/preview'))).body.url)
    const cookie = (await ask(url)).headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    expect((await ask(`${url.origin}/`, { headers: { cookie } })).status).toBe(200)
    await accounts.test.db.database.query('update memberships set revoked_at = now() where person_id = $1', [
      leaver.who.personId,
    ])
    expect((await ask(`${url.origin}/`, { headers: { cookie } })).status).toBe(403)
  })

  it('stands still with the sandbox, says so, and dies with it', async () => {
    const { origin, cookie } = await entered()
    await touch(accounts.test.db.database, accounts.test.dataDir, session, 'stop')
    await until('the rest', async () => (await api.session(session.id)).phase === 'idle')
    const still = await until('the freeze', async () => {
      const answer = await ask(`${origin}/`, { headers: { cookie } })
      return answer.status === 503 && answer
    })
    expect(still.text).toContain('is paused')
    expect((await api.get<PortList>(pathOf(''))).body).toMatchObject({ ports: [], atRest: true })
    expect((await api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBeLessThan(300)
    expect((await ask(`${origin}/`, { headers: { cookie } })).status).toBe(403)
    expect(outcome(await api.call('POST', pathOf(`/3000/preview`)))).toBe('409 cloud_workspace_expired')
  })

  it('is unavailable on a machine that does not have the sandbox', async () => {
    const elsewhere = await api.createSession()
    await accounts.test.db.database.query(
      `insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
       values ($1, $2, $3, 'bubblewrap', 'another', 'shell', 'attached', now(), now() + interval '1 hour', now() + interval '1 hour', 1000)`,
      [randomUUID(), elsewhere.organizationId, elsewhere.id],
    )
    expect(outcome(await api.get(`/cloud/sessions/${elsewhere.id}/ports`))).toBe('503 cloud_preview_unavailable')
  })
})
