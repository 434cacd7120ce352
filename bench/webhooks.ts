// Measures webhooks: what they cost an append, deliveries a second against a bare `node:https` loop over kept connections
// that posts the same bytes, and the time from a commit to the receiver's first byte, alone and beside a receiver that
// never answers. Run as: node bench/webhooks.ts [events] [append|deliveries|latency]
import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import { makeSecret, sealSecret } from '../packages/core/src/webhooks/endpoint-secret.ts'
import { insertEndpoint } from '../packages/core/src/webhooks/endpoint-sql.ts'
import { Poster } from '../packages/core/src/webhooks/poster.ts'
import { Sender, senderLimits } from '../packages/core/src/webhooks/sender.ts'
import { webhookRules } from '../packages/core/src/webhooks/webhook-url.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import type { SessionKey } from '../packages/platform/src/kit/session-key.ts'
import type { Network } from '../packages/platform/src/network/dial.ts'
import { MasterKey } from '../packages/platform/src/storage/master-key.ts'
import { topics } from '../packages/platform/src/storage/postgres/wakeups.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchWakeups } from './support/bench-wakeups.ts'
import { median, quantile, show } from './support/statistics.ts'

const events = Number(process.argv[2] ?? 3_200)
/** The one figure to measure; absent: all. */
const only = process.argv[3]
const measures = (figure: 'append' | 'deliveries' | 'latency') => only === undefined || only === figure
const SESSIONS = 16
const ROUNDS = 5
/** Of the 50 Events of an average Run, 5 have a family. */
const RUN = 50
const WITH_FAMILY = 5

await using bench = await openBenchDatabase(32)
const { db } = bench
const masterKey = new MasterKey(randomBytes(32))
const pem = (file: string) => readFileSync(join(bench.dataDir, file), 'utf8')
const certificate = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
const names = ['-subj', '/CN=hooks.example.com', '-addext', 'subjectAltName=DNS:hooks.example.com,DNS:dead.example.com']
execFileSync('openssl', ['req', ...certificate, ...names, '-keyout', 'hook.key', '-out', 'hook.pem'], {
  cwd: bench.dataDir,
  stdio: 'pipe',
})

const arrived = new Map<string, number>()
const receiver = createServer({ cert: pem('hook.pem'), key: pem('hook.key') }, (incoming, response) => {
  const at = performance.now()
  const chunks: Buffer[] = []
  incoming.on('data', chunk => chunks.push(chunk))
  incoming.on('end', () => {
    if (incoming.headers.host === 'dead.example.com') return
    arrived.set(Buffer.concat(chunks).toString('utf8', 7, 43), at)
    response.writeHead(204).end()
  })
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const { port } = receiver.address() as AddressInfo

const network: Network = {
  lookUp: async () => [],
  resolve: async name => [name.startsWith('dead') ? '93.184.216.35' : '93.184.216.34'],
  async dial() {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    await once(socket, 'connect')
    return socket
  },
}

async function endpoint(url: string): Promise<void> {
  const id = randomUUID()
  const made = { id, installationId: bench.installationId, url, families: ['run'] }
  await insertEndpoint(db, { ...made, sealedSecret: sealSecret(masterKey, id, makeSecret()) }, new Date())
}

const draft = (type: string) => ({ type, data: { status: 'running', note: 'x'.repeat(200) } })

/** Appends Runs' worth of Events; returns Events a second. */
async function appends(withFamily: string): Promise<number> {
  const keys = await bench.newSessions(SESSIONS)
  const start = performance.now()
  await Promise.all(
    keys.map(async key => {
      for (let n = 0; n < events / SESSIONS; n += 1) {
        const type = n % (RUN / WITH_FAMILY) === 0 ? withFamily : 'svc.run.progress'
        await appendEvents(db, key, [draft(type)], new Date())
      }
    }),
  )
  return (events * 1000) / (performance.now() - start)
}

/** The median over rounds of `svc.run.started` against a type that has no family and so looks nothing up. */
async function appendRatio(): Promise<number> {
  const ratios: number[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const turns =
      round % 2 === 0
        ? (['svc.run.started', 'svc.ran.started'] as const)
        : (['svc.ran.started', 'svc.run.started'] as const)
    const rates: Record<string, number> = {}
    for (const type of turns) rates[type] = await appends(type)
    if (round > 0) ratios.push((rates['svc.run.started'] ?? 0) / (rates['svc.ran.started'] ?? 1))
  }
  return median(ratios)
}

if (measures('append')) console.info(`append, no endpoint: ${show(await appendRatio(), 3)} (at least 0.97)`)
await endpoint('https://hooks.example.com/')
if (measures('append')) console.info(`append, one endpoint: ${show(await appendRatio(), 3)} (at least 0.9)`)

await using wakeups = await startBenchWakeups(bench)
const startSender = async () => {
  const parts = {
    db,
    wakeups,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    masterKey,
    network,
    timeoutMs: 10_000,
  }
  const rules = webhookRules({ ports: [443], allow: [] }, () => false)
  const poster = new Poster(network, pem('hook.pem'))
  const sender = new Sender({ ...parts, rules, poster }, { ...senderLimits, claimMs: 4_000 })
  await sender.start()
  return sender
}

/** Posts from as many loops as an endpoint has slots. */
async function bareLoop(count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16, ca: pem('hook.pem'), servername: 'hooks.example.com' })
  const body = JSON.stringify({
    id: randomUUID(),
    type: 'svc.run.started',
    createdAt: new Date(),
    sequence: 1,
    visibility: 'public',
    subject: { sessionId: randomUUID() },
    data: draft('').data,
  })
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        host: 'hooks.example.com',
      }
      request({ agent, host: '127.0.0.1', port, method: 'POST', path: '/', headers }, response =>
        response.resume().on('end', resolve),
      )
        .on('error', reject)
        .end(body)
    })
  const start = performance.now()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = 0; n < count / 16; n += 1) await post()
    }),
  )
  agent.destroy()
  return (count * 1000) / (performance.now() - start)
}

async function deliveriesPerSecond(): Promise<number> {
  await db.query('delete from webhook_deliveries')
  const [key] = await bench.newSessions(1)
  if (key === undefined) throw new Error('no session')
  for (let n = 0; n < events / 100; n += 1)
    await appendEvents(
      db,
      key,
      Array.from({ length: 100 }, () => draft('svc.run.started')),
      new Date(),
    )
  arrived.clear()
  const start = performance.now()
  await using _ = await startSender()
  for (;;) {
    const { rows } = await db.query<{ left: number }>(
      "select count(*) as left from webhook_deliveries where status = 'pending'",
    )
    if (rows[0]?.left === 0) return (events * 1000) / (performance.now() - start)
    await sleep(20)
  }
}
if (measures('deliveries')) {
  await bareLoop(events)
  const ratios: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const bare = await bareLoop(events)
    const ours = await deliveriesPerSecond()
    console.info(`deliveries: ${show(ours, 0)}/s, bare loop: ${show(bare, 0)}/s`)
    ratios.push(ours / bare)
  }
  console.info(`deliveries against the bare loop: ${show(median(ratios))} (at least 0.5)`)
}

/** Milliseconds from the commit to the request's headers at the receiver, at 50 Events a second. */
async function latencies(seconds: number): Promise<number[]> {
  await db.query('delete from webhook_deliveries')
  arrived.clear()
  const keys = await bench.newSessions(10)
  await using _ = await startSender()
  const committed: { key: SessionKey; sequence: number; at: number }[] = []
  for (let n = 0; n < seconds * 50; n += 1) {
    const key = keys[n % keys.length] as SessionKey
    const sequence = (await appendEvents(db, key, [draft('svc.run.started')], new Date())) ?? 0
    committed.push({ key, sequence, at: performance.now() })
    wakeups.publish(topics.session(key.organizationId, key.sessionId))
    await sleep(20)
  }
  await sleep(2_000)
  const { rows } = await db.query<{ session_id: string; sequence: number; id: string }>(
    'select session_id, sequence, substring(envelope from 8 for 36) as id from events where session_id = any($1)',
    [keys.map(({ sessionId }) => sessionId)],
  )
  const ids = new Map(rows.map(row => [`${row.session_id}/${row.sequence}`, row.id]))
  return committed.map(({ key, sequence, at }) => {
    const came = arrived.get(ids.get(`${key.sessionId}/${sequence}`) ?? '')
    if (came === undefined) throw new Error('an Event did not arrive')
    return came - at
  })
}
if (measures('latency')) {
  const seconds = 10
  const alone = await latencies(seconds)
  console.info(
    `commit to first byte: p50 ${show(quantile(alone, 0.5), 1)} ms (20), p99 ${show(quantile(alone, 0.99), 1)} ms (100)`,
  )
  await endpoint('https://dead.example.com/')
  const loaded = await latencies(seconds)
  console.info(
    `beside a dead receiver: p50 ${show(quantile(loaded, 0.5), 1)} ms, p99 ${show(quantile(loaded, 0.99), 1)} ms`,
  )
  console.info(`p99 beside it against alone: ${show(quantile(loaded, 0.99) / quantile(alone, 0.99))} (at most 1.2)`)
}
receiver.closeAllConnections()
receiver.close()
