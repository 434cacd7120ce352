// Holds 256 streams for ten minutes with 1 000 forced disconnects, and checks for gaps, repeats and growing memory.
// Run as: node bench/events-soak.ts [minutes]
import { readFileSync } from 'node:fs'
import { appendEvents } from '../packages/server/src/sessions/log/append.ts'
import { topics } from '../packages/server/src/storage/postgres/wakeups.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startBenchWakeups } from './support/bench-wakeups.ts'
import { show } from './support/statistics.ts'
import { openStream, type RawStream } from './support/stream-client.ts'

const STREAMS = 256
const SESSIONS = 64
const PER_SECOND = 50
const minutes = Number(process.argv[2] ?? 10)
const disconnects = 100 * minutes

await using bench = await openBenchDatabase()
await using service = await startBenchService(bench)
await using wakeups = await startBenchWakeups(bench)
const keys = await bench.newSessions(SESSIONS)

let faults = 0
let reconnects = 0
let stopping = false
const readers = Array.from({ length: STREAMS }, (_, index) => {
  const key = keys[index % SESSIONS]
  if (key === undefined) throw new Error('no session')
  const reader = { newest: 0, stream: null as RawStream | null, key }
  const open = () => {
    reader.stream = openStream(`${service.url}/v1/sessions/${key.sessionId}/events/stream`, bench.apiKey, {
      lastEventId: reader.newest,
      onFrame: sequence => {
        if (sequence !== reader.newest + 1) faults += 1
        reader.newest = sequence
      },
    })
    void reader.stream.ended.then(() => {
      if (stopping) return
      reconnects += 1
      setTimeout(open, 20)
    })
  }
  open()
  return reader
})

const residentMb = () =>
  Number(readFileSync(`/proc/${service.pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+)/m)?.[1] ?? 0) / 1024
let appended = 0
let dropped = 0
const start = performance.now()
const sinceMs = () => performance.now() - start
const resident: number[] = []
while (sinceMs() < minutes * 60_000) {
  const due = Math.floor((sinceMs() * PER_SECOND) / 1000)
  for (; appended < due; appended += 1) {
    const key = keys[appended % SESSIONS]
    if (key === undefined) continue
    await appendEvents(bench.db, key, [{ type: 'svc.run.progress', data: { note: 'x'.repeat(300) } }], new Date())
    wakeups.publish(topics.session(key.organizationId, key.sessionId))
  }
  for (; dropped < (sinceMs() * disconnects) / (minutes * 60_000); dropped += 1) {
    readers[Math.floor(Math.random() * STREAMS)]?.stream?.close()
  }
  const minute = Math.floor(sinceMs() / 60_000)
  if (resident.length < minute) {
    resident.push(residentMb())
    console.info(`minute ${minute}: ${show(residentMb(), 0)} MB, ${reconnects} reconnects, ${faults} faults`)
  }
  await new Promise(resolve => setTimeout(resolve, 20))
}
await new Promise(resolve => setTimeout(resolve, 5_000))
resident.push(residentMb())
stopping = true
const behind = readers.filter(
  reader => reader.newest !== Math.floor((appended - 1 - keys.indexOf(reader.key)) / SESSIONS) + 1,
)
for (const reader of readers) reader.stream?.close()
const ratio = (resident.at(-1) ?? 0) / (resident[1] ?? resident[0] ?? 1)
console.info(
  `${STREAMS} streams, ${minutes} min, ${appended} events, ${dropped} forced disconnects: ` +
    `${faults} gaps or repeats, ${behind.length} readers behind, memory ${show(ratio)} x of minute 2 (at most 1.1)`,
)
