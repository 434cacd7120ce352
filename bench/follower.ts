// Measures the processor time that `followSession` adds over a bare fetch of the same stream, from a real service. The
// baseline does the least that a reader of the stream can: it splits the server-sent events and parses the JSON of each. A
// second one only takes the bytes. Each reader is a process of its own that stays, and its processor time includes its
// compiler's and its collector's. They read by turns: first a long log, again and again; then all three at once, Events
// as they come. Run as: node bench/follower.ts [events] [rounds]
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { appendEvents } from '../packages/server/src/sessions/log/append.ts'
import { topics } from '../packages/server/src/storage/postgres/wakeups.ts'
import { agentEvent } from './support/agent-events.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startBenchWakeups } from './support/bench-wakeups.ts'
import { type ReadCost, type ReaderKind, type ReadOrder, readerKinds } from './support/log-reader.ts'
import { median, show } from './support/statistics.ts'

const BOUND = 1.05
const PER_SECOND = 500
const LIVE_EVENTS = 5_000
/** Rounds that a process needs until its code is compiled. */
const WARM_ROUNDS = 3
const program = resolve(import.meta.dirname, 'support/log-reader.ts')
const events = Number(process.argv[2] ?? 50_000)
const rounds = Number(process.argv[3] ?? 15)

await using bench = await openBenchDatabase()
await using service = await startBenchService(bench)
await using wakeups = await startBenchWakeups(bench)
const [key] = await bench.newSessions(1)
if (key === undefined) throw new Error('the bench has no Session')
const { sessionId, organizationId } = key

async function append(first: number, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, n) => agentEvent(first + n))
  await appendEvents(bench.db, { sessionId, organizationId }, drafts, new Date())
}

/** Appends Events one by one, at their pace. */
async function appendLive(first: number): Promise<void> {
  const start = performance.now()
  for (let sent = 0; sent < LIVE_EVENTS; sent += 1) {
    await append(first + sent, 1)
    wakeups.publish(topics.session(organizationId, sessionId))
    const aheadMs = ((sent + 1) * 1000) / PER_SECOND - (performance.now() - start)
    if (aheadMs > 0) await new Promise(wake => setTimeout(wake, aheadMs))
  }
}

const children = new Map<ReaderKind, ChildProcess>(readerKinds.map(kind => [kind, fork(program, [kind])]))

async function read(kind: ReaderKind, after: number, until: number): Promise<ReadCost> {
  const child = children.get(kind)
  if (child === undefined) throw new Error(`no reader of ${kind}`)
  child.send({ url: service.url, apiKey: bench.apiKey, sessionId, after, until } satisfies ReadOrder)
  const [cost] = await once(child, 'message')
  return cost
}

const totalOf = ({ opening, reading }: ReadCost): number => opening + reading

function report(what: string, count: number, costOf: (kind: ReaderKind) => number): void {
  const each = readerKinds.map(kind => `${kind} ${show((costOf(kind) * 1000) / count)} µs`)
  const sdk = costOf('sdk')
  console.info(
    `${what}: ${each.join(', ')}; sdk/json ${show(sdk / costOf('json'), 3)}, sdk/bytes ${show(sdk / costOf('bytes'), 3)}`,
  )
}

const costs: Readonly<Record<ReaderKind, ReadCost[]>> = { bytes: [], json: [], sdk: [] }
const costsOf = (kind: ReaderKind, of: (cost: ReadCost) => number) => costs[kind].slice(WARM_ROUNDS).map(of)
try {
  for (let n = 0; n < events; n += 500) await append(n, Math.min(500, events - n))
  for (let round = 0; round < WARM_ROUNDS + rounds; round += 1) {
    for (let turn = 0; turn < readerKinds.length; turn += 1) {
      const kind = readerKinds[(round + turn) % readerKinds.length] ?? 'sdk'
      costs[kind].push(await read(kind, 0, events))
    }
  }
  console.info(`processor time for one of ${events} Events, medians of ${rounds} rounds`)
  report('first read of a new process', events, kind => totalOf(costs[kind][0] as ReadCost))
  report('a long log', events, kind => median(costsOf(kind, totalOf)))
  report('  from its first Event on', events, kind => median(costsOf(kind, cost => cost.reading)))
  const bare = costsOf('json', totalOf)
  const pairs = costsOf('sdk', totalOf).map((sdk, round) => sdk / (bare[round] ?? Number.NaN))
  console.info(`  sdk/json of each round, in pairs: median ${show(median(pairs), 3)} (bound ${BOUND})`)
  const openings = readerKinds.map(kind => `${kind} ${show(median(costsOf(kind, cost => cost.opening)))} ms`)
  console.info(`  until its first Event: ${openings.join(', ')}`)

  for (const [at, what] of [
    'once more, to compile',
    `Events as they come, ${PER_SECOND} a second, from the first on`,
  ].entries()) {
    const after = events + at * LIVE_EVENTS
    const reading = readerKinds.map(kind => read(kind, after, after + LIVE_EVENTS))
    await appendLive(after)
    const live = await Promise.all(reading)
    report(what, LIVE_EVENTS, kind => live[readerKinds.indexOf(kind)]?.reading ?? Number.NaN)
  }
} finally {
  for (const child of children.values()) child.disconnect()
}
