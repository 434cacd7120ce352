// Compares pages of 100 Events with a bare Fastify route that returns the same bytes: once with the guard's call in
// front of it, and once with only the page's query. Then measures pages and the Session list at a million rows. Run as:
// node bench/events-page.ts [seconds for each figure]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { median, show } from './support/statistics.ts'

const ROUNDS = 5
const CONNECTIONS = 16
const MILLION = 1_000_000
const seconds = Number(process.argv[2] ?? 3)

await using bench = await openBenchDatabase()
await using service = await startBenchService(bench)
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { authorization: `Bearer ${bench.apiKey}` } }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
      .on('error', reject)
      .end()
  })
}

async function perSecond(url: string): Promise<number> {
  let count = 0
  const until = performance.now() + seconds * 1000
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < until) {
        await get(url)
        count += 1
      }
    }),
  )
  return count / seconds
}

/** Returns medians of single requests to the two URLs, one at a time and in turns. */
async function compare(a: string, b: string, times = 300): Promise<{ a: number; b: number; ratio: number }> {
  const figures: { a: number[]; b: number[] } = { a: [], b: [] }
  for (let i = -20; i < times; i += 1) {
    for (const [name, url] of [
      ['a', a],
      ['b', b],
    ] as const) {
      const start = performance.now()
      await get(url)
      if (i >= 0) figures[name].push(performance.now() - start)
    }
  }
  return { a: median(figures.a), b: median(figures.b), ratio: median(figures.a) / median(figures.b) }
}

const [key] = await bench.newSessions(1)
if (key === undefined) throw new Error('no session')
const data = { name: 'bash', status: 'started', note: 'x'.repeat(200) }
for (let i = 0; i < 300; i += 1) await appendEvents(bench.db, key, [{ type: 'svc.run.progress', data }], new Date())
const page = `${service.url}/v1/sessions/${key.sessionId}/events`

const bare = spawn(process.execPath, [join(import.meta.dirname, 'support/bare-server.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const { connection, apiKey } = bench
bare.stdin.write(`${JSON.stringify({ connection, apiKey, key, body: await get(page) })}\n`)
const [greeting] = await once(bare.stdout, 'data')
const bareUrl = String(greeting).trim()

for (const [name, bound] of [
  ['guarded', 0.7],
  ['query', 0.5],
] as const) {
  const ratios: number[] = []
  const rates: number[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const ours = await perSecond(page)
    const theirs = await perSecond(`${bareUrl}/${name}`)
    if (round === 0) continue
    ratios.push(ours / theirs)
    rates.push(ours)
  }
  console.info(
    `page against bare ${name}: ${show(median(rates), 0)}/s, ratio ${show(median(ratios))} (at least ${bound})`,
  )
}
bare.kill()

await bench.db.query(
  `insert into events (organization_id, session_id, sequence, type, envelope)
   select $1, $2, n, 'svc.run.progress', (select envelope from events where session_id = $2 and sequence = 1)
   from generate_series(301, $3::int + 200) n`,
  [key.organizationId, key.sessionId, MILLION],
)
await bench.db.query('update sessions set last_event_sequence = $3 where organization_id = $1 and id = $2', [
  key.organizationId,
  key.sessionId,
  MILLION + 200,
])
await bench.db.query('vacuum analyze events')
const deep = await compare(`${page}?after=${MILLION}`, `${page}?after=100`)
console.info(
  `page at 1 000 000: ${show(deep.a)} ms, at 100: ${show(deep.b)} ms, ratio ${show(deep.ratio)} (at most 1.2)`,
)

await bench.newSessions(999)
await bench.db.query('vacuum analyze sessions')
const list = `${service.url}/v1/sessions?limit=50`
const few = await compare(list, list)
await bench.newSessions(MILLION - 1000)
await bench.db.query('vacuum analyze sessions')
const many = await compare(list, list)
console.info(
  `session list at 1 000 000: ${show(many.a)} ms, at 1 000: ${show(few.a)} ms, ratio ${show(many.a / few.a)} (at most 1.5)`,
)
agent.destroy()
