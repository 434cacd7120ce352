// Measures the gateway's overhead over a provider: latency at one connection; requests at 32 connections, passed through
// and translated; the first token and the frames of a paced stream; and 500 such streams at once, with their memory. The
// baseline is a bare `http` and `undici` pipe. Gateway and pipe run in processes of their own on loopback. This process is
// provider and load, with sockets and prepared bytes only, so that it leaves the machine to them.
// Run as: node bench/gateway.ts [seconds]; with `budgets`, it measures those alone
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialDigest } from '../packages/platform/src/storage/master-key.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { measureBudgets } from './support/budget-figures.ts'
import { residentKib, startProcess } from './support/processes.ts'
import { RawConnection, rawMessage } from './support/raw-http.ts'
import { framesOfStream, nowMs, startRawProvider } from './support/raw-provider.ts'
import { median, quantile, show } from './support/statistics.ts'

const seconds = Number(process.argv[2] ?? 6)
const rounds = 7
const support = join(import.meta.dirname, 'support')

await using stack = new AsyncDisposableStack()
const upstream = stack.use(await startRawProvider())
const { origin } = upstream
const bench = stack.use(await openBenchDatabase())
const aiKey = `svc_ai_live_${randomBytes(32).toString('base64url')}`
await bench.db.query(
  "insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'ai', $3, now())",
  [randomUUID(), bench.installationId, credentialDigest(aiKey)],
)
const config = join(bench.dataDir, 'gateway.json')
const price = { input: 1, output: 2 }
const provider = (id: string, kind: string) => ({
  id,
  kind,
  baseUrl: `${origin}/v1`,
  apiKey: { env: 'PROVIDER_KEY' },
  models: [{ id: 'm1', outputTokens: 4096, price }],
})
await writeFile(config, JSON.stringify({ providers: [provider('mock', 'openai'), provider('claude', 'anthropic')] }))
const startService = (variables: Record<string, string> = {}) =>
  startBenchService(bench, {
    BERTH_ROLES: 'gateway',
    BERTH_CONFIG: config,
    PROVIDER_KEY: 'x',
    ...variables,
  })
const service = stack.use(await startService())
if (process.argv[2] === 'budgets') {
  const other = stack.use(await startService())
  const costUsd = (10 * price.input + 10 * price.output) / 1e6
  for (const line of await measureBudgets(bench, [service.url, other.url], costUsd)) process.stdout.write(`${line}\n`)
  await stack.disposeAsync()
  process.exit()
}
const pipe = stack.use(await startProcess([join(support, 'bare-pipe.ts'), origin]))

interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  readonly pid: number
}

const target = (url: string, pid: number, headers: Record<string, string> = {}, model = 'm1'): Target => ({
  url,
  headers: { host: 'localhost', 'content-type': 'application/json', ...headers },
  model,
  pid,
})
const key = { authorization: `Bearer ${aiKey}` }
const direct = target(origin, process.pid)
const berth = target(service.url, service.pid, key, 'mock/m1')
const berthTranslating = target(service.url, service.pid, key, 'claude/m1')
const bare = target(`http://127.0.0.1:${pipe.line}`, pipe.pid)

function requestTo({ headers, model }: Target, stream = false): Buffer {
  const messages = [{ role: 'user', content: 'Hello, who are you? '.repeat(20) }]
  const body = JSON.stringify({ model, max_tokens: 100, messages, ...(stream && { stream }) })
  return rawMessage('POST /v1/chat/completions HTTP/1.1', headers, body)
}

const open = (to: Target, stream = false) => new RawConnection(to.url, requestTo(to, stream))

/** Returns the processor time that a process has used, in milliseconds. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

interface Load {
  readonly perSecond: number[]
  readonly took: number[]
  processor: number
}

const print = (line: string) => process.stdout.write(`${line}\n`)

/** Loads each target with 32 connections, in turns, so that other work of the machine affects all alike. */
async function compare(targets: Readonly<Record<string, Target>>): Promise<Readonly<Record<string, Load>>> {
  const loads: Record<string, Load> = {}
  for (const name of Object.keys(targets)) loads[name] = { perSecond: [], took: [], processor: 0 }
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, to] of Object.entries(targets)) {
      const into = loads[name]
      const connections = Array.from({ length: 32 }, () => open(to))
      const took: number[] = []
      const [begun, processor] = [performance.now(), processorMs(to.pid)]
      const until = begun + (seconds * 1000) / rounds
      const ask = async (connection: RawConnection) => {
        while (performance.now() < until) took.push(await connection.ask())
      }
      await Promise.all(connections.map(ask))
      for (const connection of connections) connection.close()
      // The first round is a warm-up.
      if (round === 0 || into === undefined) continue
      into.perSecond.push((took.length / (performance.now() - begun)) * 1000)
      into.took.push(...took)
      into.processor += processorMs(to.pid) - processor
    }
  }
  for (const [name, { perSecond, took, processor }] of Object.entries(loads)) {
    print(
      `${name.padEnd(18)} ${median(perSecond).toFixed(0)} requests/s, p99 ${show(quantile(took, 0.99), 1)} ms, processor ${show(processor / took.length)} ms a request`,
    )
  }
  return loads
}

/** Returns the median over the rounds of one load against the other's of the same round. */
const ratio = (ours: Load | undefined, other: Load | undefined) =>
  show(median((ours?.perSecond ?? []).map((rate, round) => rate / (other?.perSecond[round] ?? Number.NaN))))

const loads = await compare({ berth, translating: berthTranslating, pipe: bare })
print(
  `to the bare pipe: passed through ${ratio(loads['berth'], loads['pipe'])}, translated ${ratio(loads['translating'], loads['pipe'])}`,
)

// One connection per target, in turns.
const single = { direct: open(direct), berth: open(berth), pipe: open(bare) }
const added: Record<'berth' | 'pipe', number[]> = { berth: [], pipe: [] }
for (let until = performance.now() + seconds * 1000; performance.now() < until; ) {
  const alone = await single.direct.ask()
  for (const name of ['berth', 'pipe'] as const) added[name].push((await single[name].ask()) - alone)
}
for (const connection of Object.values(single)) connection.close()
for (const [name, figures] of Object.entries(added)) {
  print(
    `added latency, ${name.padEnd(8)} p50 ${show(quantile(figures, 0.5))} ms, p99 ${show(quantile(figures, 0.99))} ms`,
  )
}

/** Returns the milliseconds to the first frame, and from the write to the read of each frame. */
async function follow(to: Target, onBegun = () => {}): Promise<{ firstMs: number; lagsMs: number[] }> {
  let firstMs = 0
  const lagsMs: number[] = []
  const begun = performance.now()
  const connection = open(to, true)
  connection.onData = chunk => {
    const [at, since] = [nowMs(), performance.now() - begun]
    for (const match of chunk.toString('latin1').matchAll(/"content":"at ([\d.]+) /g)) {
      if (firstMs === 0) onBegun()
      firstMs ||= since
      lagsMs.push(at - Number(match[1]))
    }
  }
  await connection.ask()
  connection.close()
  return { firstMs, lagsMs }
}

// Paced streams, begun in turns while the earlier ones still run.
const streamed: Record<'direct' | 'berth' | 'pipe', ReturnType<typeof follow>[]> = { direct: [], berth: [], pipe: [] }
for (let n = 0; n < 60; n += 1) {
  for (const [name, to] of [
    ['direct', direct],
    ['berth', berth],
    ['pipe', bare],
  ] as const) {
    streamed[name].push(follow(to))
    await sleep(20)
  }
}
const followed = async (name: keyof typeof streamed) => {
  const streams = await Promise.all(streamed[name])
  return { firsts: streams.map(({ firstMs }) => firstMs), lags: streams.flatMap(({ lagsMs }) => lagsMs) }
}
const alone = await followed('direct')
for (const name of ['berth', 'pipe'] as const) {
  const { firsts, lags } = await followed(name)
  const first = show(median(firsts) - median(alone.firsts))
  const lag = (q: number) => show(quantile(lags, q) - quantile(alone.lags, q))
  print(`${name}, added to the first token: p50 ${first} ms; to a frame: p50 ${lag(0.5)} ms, p99 ${lag(0.99)} ms`)
}

const memoryFile = join(bench.dataDir, 'live-memory')
const liveMemory = join(support, 'live-memory.ts')

/** Returns the live memory of a process after garbage collection, in KiB. */
async function heldKib(pid: number): Promise<number> {
  await rm(memoryFile, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    const bytes = await readFile(memoryFile, 'utf8').catch(() => null)
    if (bytes !== null) return Number(bytes) / 1024
    await sleep(1)
  }
}

/**
 * Runs 500 paced streams at once on a fresh process. Resident memory also contains the young generation, which V8 grows
 * by tens of megabytes at times of its own choice, so the growth of the live heap is the measure of a stream.
 * @returns memory per open stream, in KiB, and the number of frames received
 */
async function many(to: Target): Promise<{ kib: number; liveKib: number; open: number; frames: number }> {
  await Promise.all(Array.from({ length: 20 }, () => follow(to)))
  const [before, liveBefore] = [residentKib(to.pid), await heldKib(to.pid)]
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, residentKib(to.pid))
  }, 50)
  let [begun, ended] = [0, 0]
  const allBegun = Promise.withResolvers<void>()
  const count = () => {
    begun += 1
    if (begun === 500) allBegun.resolve()
  }
  const one = () => follow(to, count).finally(() => (ended += 1))
  const all = Promise.all(Array.from({ length: 500 }, one))
  // On a quiet machine no stream has ended yet. If few are open, the memory of ended ones is counted as theirs.
  await allBegun.promise
  const open = 500 - ended
  const liveKib = ((await heldKib(to.pid)) - liveBefore) / open
  const streams = await all
  clearInterval(watch)
  return {
    kib: (peak - before) / 500,
    liveKib,
    open,
    frames: streams.reduce((sum, { lagsMs }) => sum + lagsMs.length, 0),
  }
}
const watched = { LIVE_MEMORY_FILE: memoryFile }
// The pipe inherits this variable.
process.env['LIVE_MEMORY_FILE'] = memoryFile
const fresh = stack.use(await startService({ ...watched, NODE_OPTIONS: `--import=${liveMemory}` }))
const freshPipe = stack.use(await startProcess(['--import', liveMemory, join(support, 'bare-pipe.ts'), origin]))
const oursMany = await many(target(fresh.url, fresh.pid, key, berth.model))
const bareMany = await many(target(`http://127.0.0.1:${freshPipe.line}`, freshPipe.pid))
const whole = 500 * framesOfStream
for (const [name, { kib, liveKib, open, frames }] of [
  ['berth', oursMany],
  ['bare pipe', bareMany],
] as const) {
  print(
    `500 streams, ${name}: ${frames} of ${whole} frames, each of ${open} holds ${show(liveKib, 1)} KiB, resident ${show(kib, 0)} KiB`,
  )
}
print(
  `a stream to the bare pipe's: holds ${show(oursMany.liveKib / bareMany.liveKib)}, resident ${show(oursMany.kib / bareMany.kib)}`,
)
