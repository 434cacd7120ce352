// Measures how long the first Turn of a fresh Session takes in a pod of a warm pool, and in a sandbox of the in-process host, in
// turns: from the `PUT` to the shell runtime's first reaction to its prompt, or to the first model request of Berth's own agent,
// whose scripted model is on loopback. Each service has a database and a data directory of its own.
// Run as: script/test-kubernetes node bench/pods.ts [rounds] [shell|native]
import { randomUUID } from 'node:crypto'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event, Run, Session } from '@berth/contract'
import { listPodHosts } from '../packages/core/src/hosts/pod-host-sql.ts'
import type { Fixed } from '../packages/platform/src/settings/fixed.ts'
import { realCluster, workerSettings } from '../packages/testing/src/kubernetes/real-cluster.ts'
import { callerOf } from './support/bench-api.ts'
import { type BenchDatabase, openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, quantile } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 12)
const runtime = process.argv[3] === 'native' ? 'native' : 'shell'
/** Enough for a service to prepare its ready sandboxes, and to come to rest afterwards. */
const REST_MS = 3000

await using stack = new AsyncDisposableStack()
const model = stack.use(await startObservedModel())

/** A service that fresh Sessions are started on. */
async function startSide(
  { variables = {}, fixed = {} }: { variables?: Record<string, string>; fixed?: Partial<Fixed> },
  isReady: (bench: BenchDatabase) => Promise<boolean>,
) {
  const bench = stack.use(await openBenchDatabase())
  stack.defer(() => removeSandboxes(bench.dataDir))
  await model.configure(bench.dataDir)
  const service = stack.use(await startBenchService(bench, { BERTH_ROLES: 'api,worker,gateway', ...variables }, fixed))
  const call = callerOf(service.url.replace('0.0.0.0', '127.0.0.1'), bench.apiKey)
  /** Starts a Session once the side is ready. @returns milliseconds from its `PUT` to its prompt or its model request */
  return async (): Promise<{ readonly totalMs: number; readonly startedMs: number } | { readonly lost: string }> => {
    while (!(await isReady(bench))) await sleep(100)
    await sleep(REST_MS)
    const id = randomUUID()
    const requested = model.next()
    const begunAt = Date.now()
    await call('PUT', `/v1/sessions/${id}`, { runtime, initialTurn: { id: randomUUID(), message: 'true' } })
    for (;;) {
      await sleep(20)
      const { events } = await call<{ events: Event[] }>('GET', `/v1/sessions/${id}/events?after=0`)
      const last = events.at(-1)
      if (last === undefined || !/^svc\.run\.(completed|failed|crashed)$/.test(last.type)) continue
      if (last.type !== 'svc.run.completed') return { lost: JSON.stringify(last.data) }
      const { run } = await call<{ run: Run }>('GET', `/v1/sessions/${id}/runs/${last.subject.runId}`)
      const prompted = events.find(event => event.type === 'svc.run.progress')
      const reactedAt = runtime === 'native' ? await requested : Date.parse(String(prompted?.data['occurredAt']))
      while ((await call<{ session: Session }>('GET', `/v1/sessions/${id}`)).session.phase !== 'idle') await sleep(20)
      await call('DELETE', `/v1/sessions/${id}`)
      return {
        totalMs: reactedAt - begunAt,
        startedMs: Date.parse(String(run.startedAt)) - begunAt,
      }
    }
  }
}

const podsWait = async ({ db }: BenchDatabase) => {
  const hosts = await listPodHosts(db, 'berth/berth-sandboxes')
  return hosts.filter(host => host.isConnected && host.cordonedAt === null && host.leases === 0).length >= 2
}
const sides = {
  'pod of a warm pool': await startSide(workerSettings(realCluster()), podsWait),
  'in-process host': await startSide({}, async () => true),
  'in-process host, nothing prepared ahead': await startSide({ variables: { BERTH_POOL_MOST: '0' } }, async () => true),
}
const samples = Object.entries(sides).map(([title, start]) => ({
  title,
  start,
  total: [] as number[],
  started: [] as number[],
}))
let lost = 0
const [loadBefore = Number.NaN] = loadavg()
for (let n = -1; n < rounds; n += 1) {
  for (const { title, start, total, started } of samples) {
    const sample = await start()
    if ('lost' in sample) {
      lost += 1
      console.error(`${title}: a Run was lost: ${sample.lost}`)
      continue
    }
    const { totalMs, startedMs } = sample
    console.error(`${title}: ${totalMs} ms`)
    if (n < 0) continue
    total.push(totalMs)
    started.push(startedMs)
  }
}

const print = (line: string) => process.stdout.write(`${line}\n`)
print(`runtime ${runtime}, ${rounds} rounds, load ${loadBefore.toFixed(1)} to ${loadavg()[0]?.toFixed(1)}`)
print(`${'milliseconds from the PUT'.padEnd(56)} median    p90`)
for (const { title, total, started } of samples) {
  for (const [name, values] of [
    [title, total],
    ['  of which until the Run starts', started],
  ] as const) {
    const cells = [median(values), quantile(values, 0.9)].map(value => value.toFixed(0).padStart(6))
    print(`${name.padEnd(56)} ${cells.join(' ')}`)
  }
}
const [pod, host] = samples.map(({ total }) => median(total))
const ratio = (pod ?? Number.NaN) / (host ?? Number.NaN)
print(`pod_ratio=${ratio.toFixed(2)} bound=1.5`)
print(`lost_runs=${lost} bound=0`)
if (!(ratio <= 1.5) || lost > 0) process.exitCode = 1
