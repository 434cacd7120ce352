// Measures how long a Session of Berth's own agent takes to its first model request: from the `PUT` of a fresh one, and
// from the `PUT` of a Turn on an attached lease. The scripted model is on loopback, in this process.
// Run as: node bench/fresh-start.ts [starts]
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds, quantile } from './support/statistics.ts'

const starts = Number(process.argv[2] ?? 15)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))

using model = await startObservedModel()
await model.configure(bench.dataDir)
await using service = await startBenchService(bench, { BERTH_ROLES: 'api,worker,gateway' })

const call = callerOf(service.url, bench.apiKey)

interface Sample {
  readonly admitted: number
  readonly claimed: number
  readonly started: number
  readonly first: number
}

/** Admits a Turn with a `PUT` and waits until its workspace is sealed. @returns milliseconds since the `PUT` */
async function measure(sessionId: string, path: string, body: object): Promise<Sample> {
  const first = model.next()
  const begunAt = Date.now()
  await call('PUT', path, body)
  const admitted = Date.now() - begunAt
  const at = await first
  await untilIdle(call, sessionId)
  const { rows } = await bench.db.query<{ acquired_at: Date; started_at: Date }>(
    `select e.acquired_at, r.started_at from executions e join runs r using (session_id)
     where session_id = $1 order by r.started_at desc limit 1`,
    [sessionId],
  )
  const since = (date: Date | undefined) => (date?.getTime() ?? Number.NaN) - begunAt
  return { admitted, claimed: since(rows[0]?.acquired_at), started: since(rows[0]?.started_at), first: at - begunAt }
}

async function freshTurn(): Promise<Sample> {
  const id = randomUUID()
  const initialTurn = { id: randomUUID(), message: 'Say done.' }
  const sample = await measure(id, `/v1/sessions/${id}`, { initialTurn })
  await call('DELETE', `/v1/sessions/${id}`)
  // The service destroys the sandbox and prepares the next outside the measured time.
  await sleep(4000)
  return sample
}

async function attachedTurns(): Promise<Sample[]> {
  const id = randomUUID()
  await call('PUT', `/v1/sessions/${id}`, {})
  const samples: Sample[] = []
  for (let n = -3; n < starts; n += 1) {
    const sample = await measure(id, `/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'Say done.' })
    if (n >= 0) samples.push(sample)
  }
  await call('DELETE', `/v1/sessions/${id}`)
  return samples
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const attached = await attachedTurns()
const fresh: Sample[] = []
for (let n = -2; n < starts; n += 1) {
  const sample = await freshTurn()
  if (n >= 0) fresh.push(sample)
}

print(`${'milliseconds since the PUT'.padEnd(44)} median    p90`)
for (const [title, samples] of Object.entries({ attached, fresh })) {
  for (const part of ['admitted', 'claimed', 'started', 'first'] as const) {
    const values = samples.map(sample => sample[part])
    const cells = [median(values), quantile(values, 0.9)].map(value => value.toFixed(0).padStart(6))
    print(`${`${title}: ${part}`.padEnd(44)} ${cells.join(' ')}`)
  }
}
const [attachedMs, freshMs] = [attached, fresh].map(samples => median(samples.map(sample => sample.first)))
printBounds({
  attached_ms: [attachedMs, 100],
  fresh_ms: [freshMs, 200],
  fresh_ratio: [(freshMs ?? Number.NaN) / (attachedMs ?? Number.NaN), 2],
})
