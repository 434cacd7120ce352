// Measures how long a Turn takes to reach its agent: from the `PUT` to the shell runtime's first reaction to its
// prompt, by the supervisor's own timestamps. It measures an attached lease, with the time in the queue apart, and a
// fresh sandbox, in pairs with a Session whose environment is empty. Run as: node bench/turn.ts [turns] [pairs]
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event, Run } from '@berth/contract'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds, quantile } from './support/statistics.ts'

const turns = Number(process.argv[2] ?? 40)
const pairs = Number(process.argv[3] ?? 20)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
await using service = await startBenchService(bench, { BERTH_ROLES: 'api,worker' })

const call = callerOf(service.url, bench.apiKey)

interface Sample {
  readonly totalMs: number
  readonly queueMs: number
}

/** Admits a Turn with a `PUT`; once it has ended, returns when its agent reacted. */
async function measure(
  sessionId: string,
  after: number,
  path: string,
  body: object,
): Promise<Sample & { last: number }> {
  const begunAt = Date.now()
  await call('PUT', path, body)
  for (;;) {
    await sleep(20)
    const { events } = await call<{ events: Event[] }>('GET', `/v1/sessions/${sessionId}/events?after=${after}`)
    const last = events.at(-1)
    if (last === undefined || !/^svc\.run\.(completed|failed|crashed)$/.test(last.type)) continue
    const { run } = await call<{ run: Run }>('GET', `/v1/sessions/${sessionId}/runs/${last.subject.runId}`)
    const reacted = events.find(event => event.type === 'svc.run.progress')
    const { rows } = await bench.db.query<{ acquired_at: Date }>(
      'select acquired_at from executions where session_id = $1',
      [sessionId],
    )
    // An immediate next Turn would wait until this one's workspace is sealed.
    await untilIdle(call, sessionId)
    return {
      totalMs: Date.parse(String(reacted?.data['occurredAt'])) - begunAt,
      queueMs: (rows[0]?.acquired_at.getTime() ?? Number.NaN) - Date.parse(run.queuedAt),
      last: last.sequence,
    }
  }
}

async function freshTurn(environment: { readonly id: string } | null = null): Promise<Sample> {
  const id = randomUUID()
  const initialTurn = { id: randomUUID(), message: 'true' }
  const sample = await measure(id, 0, `/v1/sessions/${id}`, { runtime: 'shell', environment, initialTurn })
  await call('DELETE', `/v1/sessions/${id}`)
  // The service destroys the sandbox and prepares a new spare outside the measured time.
  await sleep(300)
  return sample
}

async function attachedTurns(): Promise<Sample[]> {
  const id = randomUUID()
  await call('PUT', `/v1/sessions/${id}`, { runtime: 'shell' })
  const samples: Sample[] = []
  for (let n = -3, last = 0; n < turns; n += 1) {
    const sample = await measure(id, last, `/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'true' })
    last = sample.last
    if (n >= 0) samples.push(sample)
  }
  await call('DELETE', `/v1/sessions/${id}`)
  return samples
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const row = (title: string, values: readonly number[]) =>
  print(`${title.padEnd(44)} ${median(values).toFixed(0).padStart(6)} ${quantile(values, 0.9).toFixed(0).padStart(6)}`)

const attached = await attachedTurns()
const environment = { id: randomUUID() }
await call('PUT', `/v1/environments/${environment.id}`, { document: { name: 'empty' } })
const fresh: Sample[] = []
const applied: Sample[] = []
for (let n = -2; n < pairs; n += 1) {
  const [made, setUp] = [await freshTurn(), await freshTurn(environment)]
  if (n < 0) continue
  fresh.push(made)
  applied.push(setUp)
}

print(`${'milliseconds'.padEnd(44)} median    p90`)
row(
  'lease attached: PUT to prompt',
  attached.map(sample => sample.totalMs),
)
row(
  '  of which queued',
  attached.map(sample => sample.queueMs),
)
row(
  'fresh sandbox: PUT to prompt',
  fresh.map(sample => sample.totalMs),
)
row(
  '  of which queued',
  fresh.map(sample => sample.queueMs),
)
row(
  'fresh sandbox, empty environment',
  applied.map(sample => sample.totalMs),
)
printBounds({
  attached_ms: [median(attached.map(sample => sample.totalMs)), 100],
  attached_queue_ms: [median(attached.map(sample => sample.queueMs)), 20],
  fresh_ms: [median(fresh.map(sample => sample.totalMs)), 250],
  empty_environment_adds_ms: [
    median(applied.map(sample => sample.totalMs)) - median(fresh.map(sample => sample.totalMs)),
    10,
  ],
})
