// Measures how soon a connection goes on that waits for people. A program in a sandbox wants one host after another; each is
// allowed once, and the time runs from the decision's `PUT` to the request at the host. The API is a process of its own, so
// the worker hears of the decision by the database. Run as: node bench/egress-ask.ts [hosts]
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Interaction } from '@berth/contract'
import { workerContext } from '../packages/testing/src/services/worker-context.ts'
import { Worker } from '../packages/worker/src/worker.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds, quantile, show } from './support/statistics.ts'

const BOUND_MS = 50
/** A Run asks about 200 hosts at most. */
const count = Math.min(Number(process.argv[2] ?? 100), 190)

await using bench = await openBenchDatabase()
await using stack = new AsyncDisposableStack()
stack.defer(() => removeSandboxes(bench.dataDir))
const service = stack.use(await startBenchService(bench))
const call = callerOf(service.url, bench.apiKey)

/** When each name was asked for. */
const reachedAt = new Map<string, number>()
const server = createServer((request, response) => {
  reachedAt.set(String(request.headers.host), performance.now())
  response.end()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
stack.defer(() => void server.close().closeAllConnections())
const { port } = server.address() as AddressInfo
const network = {
  lookUp: async () => [],
  resolve: async () => ['93.184.216.34'],
  dial: async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    await once(socket, 'connect')
    return socket
  },
}
const database = { database: bench.db, connection: bench.connection }
const publicHosts = { ports: [80], refused: [] }
const context = await workerContext({ db: database, dataDir: bench.dataDir } as never, stack, { network, publicHosts })
const worker = stack.use(new Worker(context))
await worker.start()

const [environmentId, sessionId] = [randomUUID(), randomUUID()]
const document = { name: 'bench', network: { mode: 'ask', hosts: [] } }
await call('PUT', `/v1/environments/${environmentId}`, { document })
const message = `for at in $(seq ${count}); do curl -sS -m 100 http://h$at.example.org/; done`
const begin = { runtime: 'shell', environment: { id: environmentId }, initialTurn: { id: randomUUID(), message } }
await call('PUT', `/v1/sessions/${sessionId}`, begin)

const took: number[] = []
const path = `/v1/sessions/${sessionId}/interactions`
for (let at = 1; at <= count; at++) {
  let open: Interaction | undefined
  while (open === undefined) {
    await sleep(5)
    ;[open] = (await call<{ interactions: Interaction[] }>('GET', path)).interactions
  }
  // The connection rests, as it does while people read.
  await sleep(50)
  const { requestId } = open.request.approval ?? {}
  const begun = performance.now()
  await call('PUT', `${path}/${open.id}/decision`, { requestId, choice: 'allow_once', idempotencyKey: randomUUID() })
  while (!reachedAt.has(`h${at}.example.org`)) await sleep(1)
  took.push((reachedAt.get(`h${at}.example.org`) ?? Number.NaN) - begun)
}
await untilIdle(call, sessionId)
process.stdout.write(
  `${took.length} decisions, p90 ${show(quantile(took, 0.9))} ms, most ${show(Math.max(...took))} ms\n`,
)
printBounds({ decision_to_connection_p50_ms: [median(took), BOUND_MS] })
