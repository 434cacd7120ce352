// Measures a traced Turn against an untraced one: two services, each with its own database and one attached Session of
// the shell runtime, take Turns by turns. Time is from the admission of a Turn to the end of its Run, by the database's
// rows, in whole milliseconds; processor time is the service's own. Run as: node bench/traces.ts [turns]
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '@berth/contract'
import { callerOf } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median } from './support/statistics.ts'

const BOUND = 1.05
const turns = Number(process.argv[2] ?? 40)

let batches = 0
const collector = createServer((request, response) => {
  request.resume().on('end', () => {
    batches += 1
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
})
await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
const collectorUrl = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`

/** A service with one Session, and the times of its Turns. */
interface Side {
  readonly turn: () => Promise<void>
  readonly processorMs: () => number
  readonly tookMs: number[]
}

await using stack = new AsyncDisposableStack()
stack.defer(() => void collector.close())

async function side(variables: Record<string, string>): Promise<Side> {
  const bench = stack.use(await openBenchDatabase())
  stack.defer(() => removeSandboxes(bench.dataDir))
  const service = stack.use(await startBenchService(bench, { BERTH_ROLES: 'api,worker', ...variables }))
  const call = callerOf(service.url, bench.apiKey)
  const id = randomUUID()
  await call('PUT', `/v1/sessions/${id}`, { runtime: 'shell' })
  const tookMs: number[] = []
  return {
    tookMs,
    processorMs: () => processorMsOf(service.pid),
    async turn() {
      await call('PUT', `/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'true' })
      for (;;) {
        const { session } = await call<{ session: Session }>('GET', `/v1/sessions/${id}`)
        if (session.phase === 'idle') break
        // Every look is a request, and with it a span.
        await sleep(20)
      }
      const { rows } = await bench.db.query<{ took: number }>(
        'select (extract(epoch from ended_at - queued_at) * 1000)::float8 as took from runs order by queued_at desc limit 1',
      )
      tookMs.push(rows[0]?.took ?? Number.NaN)
    },
  }
}

/** Processor time of a process, in milliseconds, from the kernel's ticks of 10 ms. */
function processorMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const bare = await side({})
const traced = await side({ OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl })
for (const one of [bare, traced]) for (let turn = 0; turn < 20; turn += 1) await one.turn()
for (const one of [bare, traced]) one.tookMs.length = 0
const before = [bare.processorMs(), traced.processorMs()] as const
for (let turn = 0; turn < turns; turn += 1) {
  for (const one of turn % 2 === 0 ? [bare, traced] : [traced, bare]) await one.turn()
}
const used = [bare.processorMs() - before[0], traced.processorMs() - before[1]] as const
const [untracedMs, tracedMs] = [median(bare.tookMs), median(traced.tookMs)]
const lines = [
  `a Turn, admitted to ended: ${tracedMs.toFixed(1)} ms traced against ${untracedMs.toFixed(1)}, ratio ${(tracedMs / untracedMs).toFixed(3)} (bound ${BOUND})`,
  `processor time of the service for a Turn: ${(used[1] / turns).toFixed(1)} ms traced against ${(used[0] / turns).toFixed(1)}, ratio ${(used[1] / used[0]).toFixed(3)}`,
  `batches that the collector got: ${batches}`,
]
process.stdout.write(`${lines.join('\n')}\n`)
