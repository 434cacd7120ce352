// Looks for the values of secrets that the proxy puts in, in and around the sandboxes of many Sessions: their files, journals,
// seals and logs, the database, and the memory of their processes. Each Session has a value of its own, sends it by two programs
// and prints its variable. Run as: node bench/canaries.ts [sessions]
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '@berth/contract'
import { MasterKey, parseMasterKey } from '../packages/platform/src/storage/master-key.ts'
import { EdgeStage } from '../packages/sandboxes/src/testing/edge-clients.ts'
import { findValue } from '../packages/testing/src/leaks/find-value.ts'
import { workerContext } from '../packages/testing/src/services/worker-context.ts'
import { Worker } from '../packages/worker/src/worker.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'

const count = Number(process.argv[2] ?? 200)
/** Sessions whose sandboxes are there at once. */
const AT_ONCE = 10
/** All values begin so, and one search finds each of them. */
const mark = `canary${randomBytes(8).toString('hex')}`
const host = 'api.example.com'

await using bench = await openBenchDatabase()
await using stack = new AsyncDisposableStack()
stack.defer(() => removeSandboxes(bench.dataDir))
const service = stack.use(await startBenchService(bench))
const key = parseMasterKey(readFileSync(join(bench.dataDir, 'master.key'), 'utf8').trim())
// The worker of this process opens what the service has sealed.
if (key !== undefined) Object.assign(bench.db, { masterKey: new MasterKey(key) })
const stage = stack.use(await EdgeStage.open())
let right = 0
await stage.host(host, (incoming, response) => {
  if (incoming.headers.authorization?.startsWith(`Bearer ${mark}`)) right += 1
  response.end('in')
})
const context = await workerContext(
  {
    dataDir: bench.dataDir,
    db: { database: bench.db, connection: bench.connection, [Symbol.asyncDispose]: async () => {} },
  },
  stack,
  { network: await stage.network(), publicHosts: { ports: [80, 443], refused: [] } },
)
const worker = stack.use(new Worker(context))
await worker.start()

const call = callerOf(service.url, bench.apiKey)
const script = `curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://${host}/
  /opt/berth/node -e 'fetch("https://${host}/", { headers: { Authorization: "Bearer " + process.env.TOKEN } })'
  env > variables; echo "$TOKEN"; setsid sleep 600 > /dev/null 2>&1 &`

async function runOne(index: number): Promise<string> {
  const [id, environmentId] = [randomUUID(), randomUUID()]
  const path = `/v1/environments/${environmentId}`
  const { environment } = await call<{ environment: Environment }>('PUT', path, {
    document: { name: `canary ${index}` },
  })
  const egress = { hosts: [host], put: { header: 'Authorization' } }
  const secret = { value: `${mark}${randomBytes(16).toString('hex')}`, exposure: 'egress', egress }
  await call('PUT', `${path}/secrets/TOKEN`, secret, { 'if-match': `"${environment.revision}"` })
  const initialTurn = { id: randomUUID(), message: script }
  await call('PUT', `/v1/sessions/${id}`, { runtime: 'shell', environment: { id: environmentId }, initialTurn })
  await untilIdle(call, id)
  return id
}

const found: string[] = []
let isProven = false
for (let first = 0; first < count; first += AT_ONCE) {
  const ids = await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, at) => runOne(first + at)))
  const { rows } = await bench.db.query<{ id: string }>('select id from leases where session_id = any($1)', [ids])
  const searched = { dataDir: bench.dataDir, db: bench.db, leases: rows.map(({ id }) => id) }
  found.push(...(await findValue(mark, searched)))
  // The same search finds what is there.
  if (first === 0) isProven = (await findValue('sleep', searched)).some(place => place.startsWith('process'))
  for (const id of ids) await call('DELETE', `/v1/sessions/${id}`)
  process.stdout.write(`${first + ids.length} sessions, ${right} requests with their value, ${found.length} found\n`)
}
process.stdout.write(
  `values found: ${found.length} (bound 0); the search ${isProven ? 'finds' : 'DOES NOT FIND'} what is there\n`,
)
for (const place of new Set(found)) process.stdout.write(`${place}\n`)
if (found.length > 0 || right !== 2 * count || !isProven) process.exitCode = 1
