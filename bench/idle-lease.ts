// Measures the memory of leased Sessions: of Berth's own agent after a Turn, and of idle sandboxes that are parked or, for a
// process of their own, frozen. Shared pages count in parts (PSS). Then it measures a Turn on each kind, from the `PUT` to the
// shell's first reaction to its prompt. Without turns it makes parked Sessions alone, four at a time, and measures frames of other
// Sessions for a minute beside them, then a Turn on some 36 of them. Run as: node bench/idle-lease.ts [sessions] [turns]
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '@berth/contract'
import { sandboxProcesses } from '../packages/testing/src/workspaces/sandbox-processes.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { timeFrames } from './support/event-times.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds, quantile } from './support/statistics.ts'

const count = Number(process.argv[2] ?? 8)
const turns = Number(process.argv[3] ?? 10)

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
using model = await startObservedModel()
await model.configure(bench.dataDir)
// No lease may end while the others are made.
const variables = { BERTH_ROLES: 'api,worker,gateway', BERTH_LEASE_IDLE_SECONDS: '14400' }
await using service = await startBenchService(bench, variables, { agentIdleMs: 6000 })

const call = callerOf(service.url, bench.apiKey)

/** Reads a file of a process; empty if it has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** Reads the memory of a Session's sandbox in MiB, without that of `sleep`, and whether its agent is there. */
async function inspect(sessionId: string): Promise<{ readonly mib: number; readonly hasAgent: boolean }> {
  const { rows } = await bench.db.query<{ id: string }>('select id from leases where session_id = $1', [sessionId])
  const pids = await sandboxProcesses(bench.dataDir, rows[0]?.id ?? '')
  const own = pids.filter(pid => !read(pid, 'cmdline').startsWith('sleep'))
  const kib = own.map(pid => Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0))
  const hasAgent = own.some(pid => /engine\.cjs|shell\.js/.test(read(pid, 'cmdline')))
  return { mib: kib.reduce((sum, one) => sum + one, 0) / 1024, hasAgent }
}

/** Makes Sessions with one Turn each, so many at a time. */
async function make(sessions: number, runtime: string, message: string, atOnce = 1): Promise<readonly string[]> {
  const ids = Array.from({ length: sessions }, () => randomUUID())
  const next = ids.values()
  const lane = async () => {
    for (const id of next) {
      await call('PUT', `/v1/sessions/${id}`, { runtime, initialTurn: { id: randomUUID(), message } })
      await untilIdle(call, id)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return ids
}

/** Waits until the agents of Sessions have ended, and their sandboxes are at rest as `isParked` says. */
async function untilAtRest(ids: readonly string[], isParked: boolean): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const { mib, hasAgent } = await inspect(id)
      if (!hasAgent && (mib === 0) === isParked) break
      await sleep(200)
    }
  }
}

/** Measures a Turn in ms until its agent reacts. */
async function turn(sessionId: string): Promise<number> {
  const { session } = await call<{ session: { lastEventSequence: number } }>('GET', `/v1/sessions/${sessionId}`)
  const begunAt = Date.now()
  await call('PUT', `/v1/sessions/${sessionId}/turns/${randomUUID()}`, { message: 'true' })
  await untilIdle(call, sessionId)
  const path = `/v1/sessions/${sessionId}/events?after=${session.lastEventSequence}`
  const { events } = await call<{ events: Event[] }>('GET', path)
  return Date.parse(String(events.find(({ type }) => type === 'svc.run.progress')?.data['occurredAt'])) - begunAt
}

/** Measures frames and Turns beside many parked Sessions. */
async function measureCrowd(): Promise<void> {
  const begun = performance.now()
  const ids = await make(count, 'shell', 'true', 4)
  await untilAtRest(ids, true)
  process.stdout.write(`${count} parked after ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)
  const frames = await timeFrames(bench, service.url, 60)
  const ms: number[] = []
  const step = Math.ceil(count / 36)
  for (const id of ids.filter((_, n) => n % step === 0)) ms.push(await turn(id))
  const wakes = `p50 ${median(ms).toFixed(0)}, most ${quantile(ms, 1).toFixed(0)}`
  process.stdout.write(
    `ms to the prompt, ${ms.length} Turns: ${wakes}; to the frame: p50 ${median(frames).toFixed(1)}\n`,
  )
  printBounds({ frame_p99_ms: [quantile(frames, 0.99), 25], turn_ms: [median(ms), 150] })
}

/** Compares parked Sessions with frozen ones. */
async function compare(): Promise<void> {
  const native = await make(Math.min(count, 8), 'native', 'Say done.')
  const withAgent = median((await Promise.all(native.map(inspect))).map(({ mib }) => mib))
  const parked = await make(count, 'shell', 'true')
  const frozen = await make(
    count,
    'shell',
    '(setsid sleep 1d >/dev/null 2>&1 </dev/null &); until pgrep -x sleep; do :; done',
  )
  await untilAtRest([...native, ...parked], true)
  await untilAtRest(frozen, false)
  const sum = async (ids: readonly string[]) =>
    (await Promise.all(ids.map(inspect))).reduce((all, { mib }) => all + mib, 0)
  const [parkedMib, frozenMib] = [await sum(parked), await sum(frozen)]
  process.stdout.write(`MiB, PSS: ${withAgent.toFixed(1)} with the native agent\n`)
  process.stdout.write(`${count} idle sandboxes: ${parkedMib.toFixed(1)} MiB parked, ${frozenMib.toFixed(1)} frozen\n`)
  const ms = { parked: [] as number[], frozen: [] as number[] }
  for (let n = 0; n < turns; n += 1) {
    const [one = '', other = ''] = [parked[n % count], frozen[n % count]]
    await untilAtRest([one], true)
    await untilAtRest([other], false)
    ms.parked.push(await turn(one))
    ms.frozen.push(await turn(other))
  }
  const [onParked, onFrozen] = [median(ms.parked), median(ms.frozen)]
  process.stdout.write(`ms to the prompt: ${onParked.toFixed(0)} parked, ${onFrozen.toFixed(0)} frozen\n`)
  printBounds({ parked_lease_mib: [parkedMib / count, 1], wake_ms: [onParked - onFrozen, 150] })
}

await (turns === 0 ? measureCrowd() : compare())
