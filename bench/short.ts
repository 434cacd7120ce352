// Measures what a person waits for in short requests: reading a Session and a page of 100 Events at 100 requests a second,
// beside a bare route with the same query, in turns; from an append to the frame at a stream; and from an append to the
// receipt of its webhook: alone, beside a receiver that never answers, and beside one that refuses connections.
// Run as: node bench/short.ts [seconds]
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import { findSession } from '../packages/core/src/sessions/session/session-sql.ts'
import { listEventsAfter } from '../packages/core/src/sessions/streams/event-sql.ts'
import { makeSecret, sealSecret } from '../packages/core/src/webhooks/endpoint-secret.ts'
import { insertEndpoint } from '../packages/core/src/webhooks/endpoint-sql.ts'
import { MasterKey } from '../packages/platform/src/storage/master-key.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { freePort, startBenchService } from './support/bench-service.ts'
import { timeEvents, timeFrames } from './support/event-times.ts'
import { printBounds, quantile, show } from './support/statistics.ts'

const PER_SECOND = 100
const seconds = Number(process.argv[2] ?? 20)

await using bench = await openBenchDatabase()
const { db } = bench
const [livelyPort, silentPort, closedPort] = [await freePort(), await freePort(), await freePort()]
const origins = [livelyPort, silentPort, closedPort].map(port => `http://127.0.0.1:${port}`)
await writeFile(join(bench.dataDir, 'berth.json'), JSON.stringify({ webhooks: { allow: origins } }), { mode: 0o600 })
const key = randomBytes(32)
await using service = await startBenchService(bench, {
  BERTH_ROLES: 'api,account',
  BERTH_MASTER_KEY: key.toString('hex'),
})

const [session] = await bench.newSessions(1)
if (session === undefined) throw new Error('no session')
const drafts = Array.from({ length: 200 }, () => ({ type: 'svc.run.progress', data: { note: 'x'.repeat(200) } }))
await appendEvents(db, session, drafts, new Date())
const bare = createServer(async ({ url }, response) => {
  response.setHeader('content-type', 'application/json')
  if (url === '/session') return void response.end(JSON.stringify(await findSession(db, session)))
  const events = await listEventsAfter(db, session, 0, 100)
  response.end(`{"events":[${events.map(({ envelope }) => envelope).join(',')}]}`)
}).listen(0, '127.0.0.1')
await once(bare, 'listening')
const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`

const figures: Record<string, [figure: number, bound: number]> = {}
function note(name: string, ms: readonly number[], bounds: readonly [p50: number, p99: number]): void {
  figures[`${name}_p50_ms`] = [quantile(ms, 0.5), bounds[0]]
  figures[`${name}_p99_ms`] = [quantile(ms, 0.99), bounds[1]]
}

/** Sends requests to both addresses in turn, evenly over the time, whether or not the one before is answered. */
async function read(name: string, ours: string, theirs: string): Promise<void> {
  const ms: [number[], number[]] = [[], []]
  const headers = { authorization: `Bearer ${bench.apiKey}` }
  const get = async (n: number) => {
    const at = performance.now()
    const answer = await fetch(n % 2 === 0 ? ours : theirs, { headers })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`)
    if (n >= PER_SECOND) ms[n % 2 === 0 ? 0 : 1].push(performance.now() - at)
  }
  const start = performance.now()
  const requests: Promise<void>[] = []
  for (let n = 0; n < PER_SECOND * (seconds + 1); n += 1) {
    await sleep(Math.max(0, start + (n * 1000) / PER_SECOND - performance.now()))
    requests.push(get(n))
  }
  await Promise.all(requests)
  const [p50, p99] = [0.5, 0.99].map(q => show(quantile(ms[1], q)))
  process.stdout.write(`${name} of the bare route: p50 ${p50} ms, p99 ${p99} ms\n`)
  note(name, ms[0], [10, 50])
}
const path = `${service.url}/v1/sessions/${session.sessionId}`
await read('session', path, `${bareUrl}/session`)
await read('page', `${path}/events?after=0&limit=100`, `${bareUrl}/page`)
note('frame', await timeFrames(bench, service.url, seconds), [5, 25])

const arrived = new Map<string, number>()
const lively = createServer(async (request, response) => {
  const at = performance.now()
  const { subject, sequence } = (await json(request)) as { subject: { sessionId: string }; sequence: number }
  arrived.set(`${subject.sessionId}/${sequence}`, at)
  response.writeHead(204).end()
}).listen(livelyPort, '127.0.0.1')
const silent = createServer(() => undefined).listen(silentPort, '127.0.0.1')
const ids = (await bench.newSessions(10)).map(({ sessionId }) => sessionId)
for (const [n, name] of ['webhook', 'beside_silent', 'beside_closed'].entries()) {
  const id = randomUUID()
  const sealedSecret = sealSecret(new MasterKey(key), id, makeSecret())
  const made = { id, installationId: bench.installationId, url: `${origins[n]}/`, families: ['run'], sealedSecret }
  await insertEndpoint(db, made, new Date())
  // The first deliveries open connections, and the sender learns of the endpoint.
  await timeEvents(bench, ids, { perSecond: 10, seconds: 2 }, arrived)
  note(name, await timeEvents(bench, ids, { perSecond: 50, seconds }, arrived), [20, 100])
  if (n > 0) await db.query('delete from webhook_endpoints where id = $1', [id])
}
printBounds(figures)
for (const server of [bare, lively, silent]) server.close().closeAllConnections()
