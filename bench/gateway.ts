// What the gateway adds to a provider, passed through: latency at one connection, requests at 32 against
// `@portkey-ai/gateway`, first token and frames of a paced stream, and 500 such streams at once with their memory against
// a bare `http` and `undici` pipe. Provider, gateways and pipe are processes of their own on loopback.
// Run as: node bench/gateway.ts [seconds]
import { randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { credentialDigest } from '../packages/server/src/storage/master-key.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { freePort, startBenchService } from './support/bench-service.ts'
import { residentKib, startProcess } from './support/processes.ts'
import { quantile, show } from './support/statistics.ts'

const seconds = Number(process.argv[2] ?? 6)
const rounds = 6
const support = join(import.meta.dirname, 'support')
const portkeyMain = resolve(import.meta.dirname, '../node_modules/@portkey-ai/gateway/build/start-server.js')

await using stack = new AsyncDisposableStack()
const upstream = stack.use(await startProcess([join(support, 'mock-upstream.ts')]))
const origin = `http://127.0.0.1:${upstream.line}`
const bench = stack.use(await openBenchDatabase())
const aiKey = `svc_ai_live_${randomBytes(32).toString('base64url')}`
await bench.db.query(
  "insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'ai', $3, now())",
  [randomUUID(), bench.installationId, credentialDigest(aiKey)],
)
const config = join(bench.dataDir, 'gateway.json')
const price = { input: 1, output: 2 }
const provider = { id: 'mock', kind: 'openai', baseUrl: `${origin}/v1`, models: [{ id: 'm1', price }] }
await writeFile(config, JSON.stringify({ providers: [provider] }))
const startService = () =>
  startBenchService(bench, {
    BERTH_ROLES: 'gateway',
    BERTH_CONFIG: config,
    BERTH_GATEWAY_RATE_BURST: '100000000',
  })
const service = stack.use(await startService())
const portkeyPort = await freePort()
const portkey = stack.use(await startProcess([portkeyMain, '--headless', `--port=${portkeyPort}`], false))
const pipe = stack.use(await startProcess([join(support, 'bare-pipe.ts'), origin]))

interface Target {
  readonly pool: Pool
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  readonly pid: number
}

const json = { 'content-type': 'application/json' }
const target = (url: string, pid: number, headers: Record<string, string> = {}, model = 'm1'): Target => ({
  pool: stack.adopt(new Pool(url, { connections: 1024 }), pool => pool.destroy()),
  headers: { ...json, ...headers },
  model,
  pid,
})
const direct = target(origin, upstream.pid)
const berth = target(service.url, service.pid, { authorization: `Bearer ${aiKey}` }, 'mock/m1')
const bare = target(`http://127.0.0.1:${pipe.line}`, pipe.pid)
const rival = target(`http://127.0.0.1:${portkeyPort}`, portkey.pid, {
  authorization: 'Bearer x',
  'x-portkey-provider': 'openai',
  'x-portkey-custom-host': `${origin}/v1`,
})

const bodyOf = ({ model }: Target, stream: boolean) =>
  JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Hello, who are you? '.repeat(20) }],
    ...(stream && { stream }),
  })

async function ask(to: Target): Promise<number> {
  const begun = performance.now()
  const { statusCode, body } = await to.pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: to.headers,
    body: bodyOf(to, false),
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`answered ${statusCode} ${text}`)
  return performance.now() - begun
}

interface Load {
  readonly took: number[]
  seconds: number
}

async function load(to: Target, into: Load): Promise<void> {
  const begun = performance.now()
  const until = begun + (seconds * 1000) / rounds
  const worker = async () => {
    while (performance.now() < until) into.took.push(await ask(to))
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  into.seconds += (performance.now() - begun) / 1000
}

/** Milliseconds to the first frame, and of each frame from where it was written to where it was read. */
async function follow(to: Target): Promise<{ firstMs: number; lagsMs: number[] }> {
  const begun = performance.now()
  const { body } = await to.pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: to.headers,
    body: bodyOf(to, true),
  })
  let firstMs = 0
  const lagsMs: number[] = []
  let rest = ''
  for await (const part of body) {
    const at = performance.timeOrigin + performance.now()
    firstMs ||= performance.now() - begun
    rest += part
    const ends = rest.lastIndexOf('\n\n')
    for (const match of rest.slice(0, ends).matchAll(/"content":"at ([\d.]+) /g)) lagsMs.push(at - Number(match[1]))
    rest = rest.slice(ends)
  }
  return { firstMs, lagsMs }
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const warm = async (to: Target, times: number) => {
  for (let n = 0; n < times; n += 1) await ask(to)
}
while (
  !(await ask(rival).then(
    () => true,
    () => false,
  ))
)
  await sleep(100)

// One connection, the two in turn.
for (const to of [direct, berth, rival]) await warm(to, 300)
const added: number[] = []
const rivalAdded: number[] = []
for (let until = performance.now() + seconds * 1000; performance.now() < until; ) {
  const alone = await ask(direct)
  added.push((await ask(berth)) - alone)
  rivalAdded.push((await ask(rival)) - alone)
}
print(`added latency, one connection: p50 ${show(quantile(added, 0.5))} ms, p99 ${show(quantile(added, 0.99))} ms`)
print(
  `the same of portkey:           p50 ${show(quantile(rivalAdded, 0.5))} ms, p99 ${show(quantile(rivalAdded, 0.99))} ms`,
)

// 32 connections, the three in turn, so that whatever else the machine does is shared by all.
const loads = { berth: { took: [], seconds: 0 }, portkey: { took: [], seconds: 0 }, pipe: { took: [], seconds: 0 } }
for (let round = 0; round < rounds; round += 1) {
  await load(berth, loads.berth)
  await load(rival, loads.portkey)
  await load(bare, loads.pipe)
}
const perSecond = ({ took, seconds: spent }: Load) => took.length / spent
for (const [name, made] of Object.entries(loads)) {
  print(
    `32 connections, ${name.padEnd(7)}: ${perSecond(made).toFixed(0)} requests/s, p99 ${show(quantile(made.took, 0.99), 1)} ms`,
  )
}
const ratio = (other: Load) => show(perSecond(loads.berth) / perSecond(other))
print(`ratio to portkey: ${ratio(loads.portkey)}, to the bare pipe: ${ratio(loads.pipe)}`)

// Paced streams, one at a time in turn.
const firsts: number[] = []
const lags: { direct: number[]; berth: number[] } = { direct: [], berth: [] }
for (let n = 0; n < 5; n += 1) {
  const alone = await follow(direct)
  const through = await follow(berth)
  firsts.push(through.firstMs - alone.firstMs)
  lags.direct.push(...alone.lagsMs)
  lags.berth.push(...through.lagsMs)
}
const lag = (q: number) => show(quantile(lags.berth, q) - quantile(lags.direct, q))
print(
  `added time to first token: p50 ${show(quantile(firsts, 0.5))} ms; added to a frame: p50 ${lag(0.5)} ms, p99 ${lag(0.99)} ms`,
)

/** 500 paced streams at once, on a process that has done little else. @returns memory per stream in KiB, and frames that came */
async function many(to: Target): Promise<{ kib: number; frames: number }> {
  await Promise.all(Array.from({ length: 20 }, () => follow(to)))
  const before = residentKib(to.pid)
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, residentKib(to.pid))
  }, 50)
  const streams = await Promise.all(Array.from({ length: 500 }, () => follow(to)))
  clearInterval(watch)
  return { kib: (peak - before) / 500, frames: streams.reduce((sum, { lagsMs }) => sum + lagsMs.length, 0) }
}
const fresh = stack.use(await startService())
const freshPipe = stack.use(await startProcess([join(support, 'bare-pipe.ts'), origin]))
const oursMany = await many(target(fresh.url, fresh.pid, berth.headers, berth.model))
const bareMany = await many(target(`http://127.0.0.1:${freshPipe.line}`, freshPipe.pid))
print(`500 streams: ${oursMany.frames} of 25000 frames, ${show(oursMany.kib, 0)} KiB a stream`)
print(
  `bare pipe:   ${bareMany.frames} of 25000 frames, ${show(bareMany.kib, 0)} KiB a stream; ratio ${show(oursMany.kib / bareMany.kib)}`,
)
