// Measures how long an agent waits after a decision: from the decision's `PUT` to the agent's next step, by the
// supervisor's own timestamps. API and worker run in separate processes. The baseline is the same request without an
// agent behind it, a repeated decision. Run as: node bench/approval.ts [decisions]
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event, Interaction } from '@berth/contract'
import { scriptedRuntimes } from '../packages/server/test/support/agents/scripted-runtimes.ts'
import { callerOf } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, quantile } from './support/statistics.ts'

const decisions = Number(process.argv[2] ?? 60)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
const { runtimes } = removal.use(await scriptedRuntimes())
await writeFile(join(bench.dataDir, 'berth.json'), JSON.stringify({ runtimes }))
await using api = await startBenchService(bench)
await using _worker = await startBenchService(bench, { BERTH_ROLES: 'api,worker' })

const call = callerOf(api.url, bench.apiKey)

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    await sleep(10)
  }
}

const id = randomUUID()
const script = Array.from({ length: decisions + 3 }, (_, n) => `permission ask ${n}\ntool step ${n}`).join('\n')
await call('PUT', `/v1/sessions/${id}`, { runtime: 'scripted', initialTurn: { id: randomUUID(), message: script } })

const decided: number[] = []
const repeated: number[] = []
for (let n = 0; n < decisions + 3; n += 1) {
  const { interaction, requestId } = await until(async () => {
    const { interactions } = await call<{ interactions: Interaction[] }>('GET', `/v1/sessions/${id}/interactions`)
    const approval = interactions.find(each => each.request.approval?.title === `ask ${n}`)
    return approval && { interaction: approval.id, requestId: approval.request.approval?.requestId }
  })
  const path = `/v1/sessions/${id}/interactions/${interaction}/decision`
  const decision = { requestId, choice: 'allow_once', idempotencyKey: randomUUID() }
  decided.push(Date.now())
  await call('PUT', path, decision)
  const begunAt = performance.now()
  await call('PUT', path, decision)
  repeated.push(performance.now() - begunAt)
}

const log = await until(async () => {
  const all: Event[] = []
  for (;;) {
    const after = all.at(-1)?.sequence ?? 0
    const { events } = await call<{ events: Event[] }>('GET', `/v1/sessions/${id}/events?after=${after}`)
    if (events.length === 0) break
    all.push(...events)
  }
  return all.some(event => event.type === 'svc.run.completed') ? all : undefined
})
// The call that asked for permission began earlier; the next call begins with the agent's next step.
const calls = new Map<string, Event>()
for (const event of log) {
  if (event.type === 'svc.run.progress' && event.data['status'] === 'started') {
    calls.set(String(event.data['activityId']), event)
  }
}
const stepOf = (n: number) =>
  log.find(event => event.type === 'svc.activity.completed' && event.data['title'] === `step ${n}`)
const waits = decided.map((at, n) => {
  const started = calls.get(String(stepOf(n)?.data['activityId']))
  return Date.parse(String(started?.data['occurredAt'])) - at
})

const row = (title: string, values: readonly number[]) => {
  const kept = values.slice(3)
  process.stdout.write(
    `${title.padEnd(44)} ${median(kept).toFixed(1).padStart(6)} ${quantile(kept, 0.9).toFixed(1).padStart(6)}\n`,
  )
}
process.stdout.write(`${'milliseconds'.padEnd(44)} median    p90\n`)
row('decision PUT to the agent', waits)
row('the same PUT repeated, nobody told', repeated)
const figure = median(waits.slice(3))
process.stdout.write(`approval_ms=${figure.toFixed(2)} bound=50\n`)
if (!(figure <= 50)) process.exitCode = 1
