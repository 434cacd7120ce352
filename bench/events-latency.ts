// Measures the time from a commit in one process to a frame received from another, at 500 events a second in all: first
// with 200 Sessions of one stream each, then with 10 Sessions of 20 streams. Run as: node bench/events-latency.ts
// [seconds]

import type { SessionKey } from '../packages/server/src/kit/session-key.ts'
import { appendEvents } from '../packages/server/src/sessions/log/append.ts'
import { topics } from '../packages/server/src/storage/postgres/wakeups.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startBenchWakeups } from './support/bench-wakeups.ts'
import { quantile, show } from './support/statistics.ts'
import { openStream } from './support/stream-client.ts'

const PER_SECOND = 500
const TICK_MS = 10
const seconds = Number(process.argv[2] ?? 60)

await using bench = await openBenchDatabase()
await using service = await startBenchService(bench)
await using wakeups = await startBenchWakeups(bench)

async function measure(sessions: number, streamsEach: number): Promise<void> {
  const keys = await bench.newSessions(sessions)
  const committed = new Map<string, number>()
  const received: { name: string; at: number }[] = []
  let faults = 0
  const streams = keys.flatMap(key =>
    Array.from({ length: streamsEach }, () => {
      let newest = 0
      const opened = Promise.withResolvers<void>()
      const stream = openStream(`${service.url}/v1/sessions/${key.sessionId}/events/stream`, bench.apiKey, {
        onOpen: opened.resolve,
        onFrame: sequence => {
          if (sequence !== newest + 1) faults += 1
          newest = sequence
          received.push({ name: `${key.sessionId}/${sequence}`, at: performance.now() })
        },
      })
      return { stream, opened: opened.promise, newest: () => newest }
    }),
  )
  await Promise.all(streams.map(({ opened }) => opened))

  const append = async (key: SessionKey) => {
    const sequence = await appendEvents(
      bench.db,
      key,
      [{ type: 'svc.run.progress', data: { name: 'bash', status: 'started', note: 'x'.repeat(200) } }],
      new Date(),
    )
    committed.set(`${key.sessionId}/${sequence}`, performance.now())
    wakeups.publish(topics.session(key.organizationId, key.sessionId))
  }
  const writes: Promise<void>[] = []
  const start = performance.now()
  for (let sent = 0; sent < PER_SECOND * seconds; ) {
    const due = Math.min(PER_SECOND * seconds, Math.floor(((performance.now() - start) * PER_SECOND) / 1000))
    for (; sent < due; sent += 1) {
      const key = keys[sent % keys.length]
      if (key !== undefined) writes.push(append(key))
    }
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(writes)
  const expected = PER_SECOND * seconds * streamsEach
  for (let waited = 0; received.length < expected && waited < 10_000; waited += TICK_MS) {
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  for (const { stream } of streams) stream.close()
  // A reader may receive a frame before the appender learns of its own commit.
  const delays = received.map(({ name, at }) => Math.max(0, at - (committed.get(name) ?? Number.NaN)))
  console.info(
    `${sessions} sessions x ${streamsEach} streams: ${received.length} of ${expected} frames, ` +
      `p50 ${show(quantile(delays, 0.5))} ms, p99 ${show(quantile(delays, 0.99))} ms, ` +
      `max ${show(quantile(delays, 1))} ms, gaps or repeats ${faults}`,
  )
}

await measure(200, 1)
await measure(10, 20)
console.info('to reach: p50 at most 5 ms, p99 at most 25 ms, no gap, no repeat')
