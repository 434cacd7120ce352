// Measures the memory of leased Sessions of Berth's own agent: after a Turn, and once their idle agents have ended. Shared
// pages count in parts (PSS). Run as: node bench/idle-lease.ts [sessions]
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '@berth/contract'
import { openaiWire } from '../packages/testing/src/models/openai-wire.ts'
import { sandboxProcesses } from '../packages/testing/src/workspaces/sandbox-processes.ts'
import { callerOf } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median } from './support/statistics.ts'

const BOUND_MIB = 20
const count = Number(process.argv[2] ?? 8)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
const model = createServer(async (request, response) => {
  const { method = '', url: path = '', headers } = request
  const body = method === 'POST' ? ((await json(request)) as object) : null
  if (body !== null) return openaiWire.write({ text: 'Done.' }, { method, path, headers, body }, response)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ object: 'list', data: [] }))
}).listen(0, '127.0.0.1')
await once(model, 'listening')
removal.defer(() => void model.close())
const address = model.address()
const modelUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`
const models = [{ id: 'm1', contextTokens: 1_000_000, outputTokens: 8192, reasoning: false }]
const providers = [{ id: 'main', kind: 'openai', baseUrl: modelUrl, apiKey: 'sk-bench', models }]
const config = { providers, models: { default: 'main/m1' } }
await writeFile(join(bench.dataDir, 'berth.json'), JSON.stringify(config), { mode: 0o600 })
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
  for (;;) {
    const { session } = await call<{ session: Session }>('GET', `/v1/sessions/${id}`)
    if (session.phase === 'idle') break
    await sleep(20)
  }
  before.push((await inspect(id)).mib)
}
// The supervisors' program counts in parts, so all of them are there when they are measured.
for (const id of ids) while ((await inspect(id)).hasAgent) await sleep(200)
const after = await Promise.all(ids.map(async id => (await inspect(id)).mib))
const print = (line: string) => process.stdout.write(`${line}\n`)
print(`MiB, PSS: ${median(before).toFixed(1)} with the agent, ${median(after).toFixed(1)} after it`)
print(`idle_lease_mib=${median(after).toFixed(1)} bound=${BOUND_MIB}`)
if (!(median(after) <= BOUND_MIB)) process.exitCode = 1
