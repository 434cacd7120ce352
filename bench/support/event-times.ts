import { setTimeout as sleep } from 'node:timers/promises'
import { appendEvents } from '../../packages/core/src/sessions/log/append.ts'
import { topics } from '../../packages/platform/src/storage/postgres/wakeups.ts'
import type { BenchDatabase } from './bench-database.ts'
import { startBenchWakeups } from './bench-wakeups.ts'
import { openStream } from './stream-client.ts'

/** Frames and deliveries count as lost after this long. */
const PATIENCE_MS = 30_000

/**
 * Appends Events to Sessions in turn, evenly over the time, and returns the milliseconds from the start of each append to its arrival.
 * @param arrived where the caller notes when an Event arrives, by `<session>/<sequence>`
 */
export async function timeEvents(
  bench: BenchDatabase,
  sessions: readonly string[],
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  arrived: ReadonlyMap<string, number>,
): Promise<number[]> {
  await using wakeups = await startBenchWakeups(bench)
  // The caller may have added an endpoint.
  wakeups.publish(topics.webhooks)
  const { db, organizationId } = bench
  const begun = new Map<string, number>()
  const start = performance.now()
  for (let n = 0; n < perSecond * seconds; n += 1) {
    await sleep(Math.max(0, start + (n * 1000) / perSecond - performance.now()))
    const sessionId = sessions[n % sessions.length] ?? ''
    const at = performance.now()
    const drafts = [{ type: 'svc.run.started', data: { status: 'running', note: 'x'.repeat(200) } }]
    const sequence = await appendEvents(db, { organizationId, sessionId }, drafts, new Date())
    wakeups.publish(topics.session(organizationId, sessionId))
    begun.set(`${sessionId}/${sequence}`, at)
  }
  const until = performance.now() + PATIENCE_MS
  while (performance.now() < until && begun.keys().some(name => !arrived.has(name))) await sleep(10)
  return [...begun].map(([name, at]) => {
    const came = arrived.get(name)
    if (came === undefined) throw new Error(`Event ${name} did not arrive`)
    return came - at
  })
}

/** Times 50 Events a second in ten Sessions, each with a stream of the service, until their frames. */
export async function timeFrames(bench: BenchDatabase, url: string, seconds: number): Promise<number[]> {
  const ids = (await bench.newSessions(10)).map(({ sessionId }) => sessionId)
  const arrived = new Map<string, number>()
  const streams = ids.map(id => {
    const opened = Promise.withResolvers<void>()
    const onFrame = (sequence: number) => void arrived.set(`${id}/${sequence}`, performance.now())
    const stream = openStream(`${url}/v1/sessions/${id}/events/stream`, bench.apiKey, {
      onOpen: opened.resolve,
      onFrame,
    })
    return { stream, opened: opened.promise }
  })
  await Promise.all(streams.map(({ opened }) => opened))
  const ms = await timeEvents(bench, ids, { perSecond: 50, seconds }, arrived)
  for (const { stream } of streams) stream.close()
  return ms
}
