import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'
import type { Context } from '@berth/core/context.ts'
import { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'
import { clientAddressBehind } from '@berth/core/http/request/client-address.ts'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ArtifactPages } from '../artifact-views/artifact-pages.ts'
import type { PreviewPlace } from './preview-place.ts'
import { PreviewSite } from './preview-site.ts'

/** Statements that the site has sent to its database, which knows no preview. */
let statements = 0
const db = {
  query: async () => {
    statements += 1
    return { rows: [], rowCount: 0 }
  },
} as unknown as Queryable

const context = { db, clock: { now: () => new Date() } } as unknown as Context
const place: PreviewPlace = {
  context,
  doors: new SandboxDoors(
    { host: 'here', door: { attach: () => Promise.reject(new Error('dialled')), isStopped: () => false } },
    null,
    { mint: () => '' },
  ),
  authorityMs: 60_000,
  domain: () => ({ scheme: 'http', host: 'localhost' }),
  clientAddress: clientAddressBehind(['127.0.0.1']),
}
/** No time passes, so no address gets a guess back. */
const guesses = () => new GuessMeter(() => 0)
const artifacts = new ArtifactPages(() => context.blobs)
const site = new PreviewSite(place, artifacts, guesses())
const server = createServer((incoming, response) => site.answer(incoming, response))
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => {
  site.close()
  server.close()
})

const label = 'a'.repeat(20)
const secret = (n: number) => String(n).padStart(43, '0')
async function ask(
  from: string,
  path: string,
  cookie?: string,
  name = `3000-${label}`,
): Promise<{ status: number; retryAfter?: string }> {
  const { port } = server.address() as AddressInfo
  const headers = { host: `${name}.localhost`, 'x-forwarded-for': from, ...(cookie !== undefined && { cookie }) }
  const [response] = await once(request({ host: '127.0.0.1', port, path, headers, agent: false }).end(), 'response')
  response.resume()
  return { status: response.statusCode, retryAfter: response.headers['retry-after'] }
}

it('asks the database nothing for what cannot be a secret', async () => {
  const before = statements
  for (const cookie of [undefined, 'svc_preview=', 'svc_preview=short', `svc_preview=${secret(1)}x`, 'other=1']) {
    expect((await ask('192.0.2.1', '/', cookie)).status).toBe(403)
  }
  for (const ticket of ['', 'x', `${secret(1)}%00`])
    for (const name of [undefined, `view-${label}`])
      expect((await ask('192.0.2.1', `/.berth/open?ticket=${ticket}`, undefined, name)).status).toBe(403)
  expect(statements).toBe(before)
})

it('ends a WebSocket whose port answers only after the close', async () => {
  const dialled = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const attach = async () => {
    const stream: Duplex = new Duplex({ read() {}, write: (_, __, done) => done() })
    dialled.resolve()
    void answer.promise.then(() => stream.push(`${JSON.stringify({ dial: 'open' })}\n`))
    return stream
  }
  const known = { query: async () => ({ rows: [{ host: 'here', lease_id: 'lease' }], rowCount: 1 }) }
  const opened = {
    ...place,
    context: { ...context, db: known as unknown as Queryable } as Context,
    doors: new SandboxDoors({ host: 'here', door: { attach, isStopped: () => false } }, null, { mint: () => '' }),
  }
  const previews = new PreviewSite(opened, artifacts)
  const upgrading = createServer().on('upgrade', (...given) => previews.upgrade(...given))
  await once(upgrading.listen(0, '127.0.0.1'), 'listening')
  const { port } = upgrading.address() as AddressInfo
  const headers = {
    host: `3000-${label}.localhost`,
    cookie: `svc_preview=${secret(1)}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
  }
  const outgoing = request({ host: '127.0.0.1', port, headers, agent: false }).end()
  const cut = once(outgoing, 'error')
  await dialled.promise
  previews.close()
  answer.resolve()
  expect(await cut).toMatchObject([{ code: 'ECONNRESET' }])
  upgrading.close()
})

it('asks it nothing for an address that guesses, whatever it guesses, and goes on to answer others', async () => {
  const before = statements
  const answers: { status: number; retryAfter?: string }[] = []
  const view = `view-${label}`
  for (let n = 0; n < 80; n += 4) {
    const ticket = `?ticket=${secret(n)}`
    answers.push(await ask('192.0.2.2', '/', `svc_preview=${secret(n)}`))
    answers.push(await ask('192.0.2.2', `/.berth/open${ticket}`))
    for (const path of ['open', 'content'])
      answers.push(await ask('192.0.2.2', `/.berth/${path}${ticket}`, undefined, view))
  }
  const refused = answers.filter(({ status }) => status === 429)
  expect(answers.filter(({ status }) => status === 403).length + refused.length).toBe(80)
  expect(refused.length).toBeGreaterThanOrEqual(10)
  expect(refused[0]?.retryAfter).toBe('1')
  expect(statements - before).toBe(80 - refused.length)
  expect((await ask('192.0.2.3', '/', `svc_preview=${secret(1)}`)).status).toBe(403)
})
