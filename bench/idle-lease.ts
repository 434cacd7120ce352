// Measures the memory of leased Sessions of Berth's own agent: after a Turn, and once their idle agents have ended. Shared
// pages count in parts (PSS). Run as: node bench/idle-lease.ts [sessions]
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxProcesses } from '../packages/testing/src/workspaces/sandbox-processes.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds } from './support/statistics.ts'

const count = Number(process.argv[2] ?? 8)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
using model = await startObservedModel()
await model.configure(bench.dataDir)
await using service = await startBenchService(bench, { BERTH_ROLES: 'api,worker,gateway' }, { agentIdleMs: 6000 })

const call = callerOf(service.url, bench.apiKey)

/** Reads a file of a process; empty if it has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** Reads the memory of a Session's sandbox, and whether its agent is there. */
async function inspect(sessionId: string): Promise<{ readonly mib: number; readonly hasAgent: boolean }> {
  const { rows } = await bench.db.query<{ id: string }>('select id from leases where session_id = $1', [sessionId])
  const pids = await sandboxProcesses(bench.dataDir, rows[0]?.id ?? '')
  const kib = pids.map(pid => Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0))
  const hasAgent = pids.some(pid => read(pid, 'cmdline').includes('engine.cjs'))
  return { mib: kib.reduce((sum, one) => sum + one, 0) / 1024, hasAgent }
}

const before: number[] = []
const ids = Array.from({ length: count }, () => randomUUID())
for (const id of ids) {
  await call('PUT', `/v1/sessions/${id}`, { initialTurn: { id: randomUUID(), message: 'Say done.' } })
  await untilIdle(call, id)
  before.push((await inspect(id)).mib)
}
// The supervisors' program counts in parts, so all of them are there when they are measured.
for (const id of ids) while ((await inspect(id)).hasAgent) await sleep(200)
const after = await Promise.all(ids.map(async id => (await inspect(id)).mib))
process.stdout.write(`MiB, PSS: ${median(before).toFixed(1)} with the agent, ${median(after).toFixed(1)} after it\n`)
printBounds({ idle_lease_mib: [median(after), 20] })
