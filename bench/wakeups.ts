// Measures wake-ups that arrive a second, of 50 processes that all publish and listen, and each follow some Sessions. The one
// channel that they replaced takes its turn in the same run. All processes are connections of this one, so the client's
// own time is part of both. Run as: node bench/wakeups.ts [processes] [seconds]
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { PostgresWakeups, topics } from '../packages/server/src/storage/postgres/wakeups.ts'
import { OneChannelWakeups } from '../packages/server/test/support/storage/one-channel-wakeups.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { quantile, show } from './support/statistics.ts'

const BOUND = 5_000
const FOLLOWED = 20
/** Topics on their way at once; each is published again when it has arrived. */
const ON_THE_WAY = 1_000
const processes = Number(process.argv[2] ?? 50)
const seconds = Number(process.argv[3] ?? 10)

interface Wakeups extends AsyncDisposable {
  start(): Promise<void>
  publish(topic: string): void
  subscribe(topic: string, listener: (topic: string | null) => void): unknown
}

await using bench = await openBenchDatabase()
const log = pino({ level: 'silent' })

async function measure(name: string, make: () => Wakeups): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const all = Array.from({ length: processes }, () => stack.use(make()))
  await Promise.all(all.map(wakeups => wakeups.start()))
  const names = Array.from({ length: processes * FOLLOWED }, (_, n) => topics.session('org', `${n}`.padStart(36, '0')))
  const sentAt = new Map<string, number>()
  const delays: number[] = []
  let measuring = false
  let turn = 0
  const send = (topic: string, follower: number) => {
    // Any process but the follower publishes.
    turn += 1
    const sender = all[(follower + 1 + (turn % (processes - 1))) % processes]
    sentAt.set(topic, performance.now())
    sender?.publish(topic)
  }
  for (const [n, topic] of names.entries()) {
    const follower = n % processes
    all[follower]?.subscribe(topic, moved => {
      const at = sentAt.get(topic)
      if (moved === null || at === undefined) return
      sentAt.delete(topic)
      if (measuring) delays.push(performance.now() - at)
      send(topic, follower)
    })
  }
  await sleep(1_000)
  for (const [n, topic] of names.slice(0, ON_THE_WAY).entries()) send(topic, n % processes)
  await sleep(1_000)
  measuring = true
  const start = performance.now()
  await sleep(seconds * 1000)
  measuring = false
  const elapsed = (performance.now() - start) / 1000
  console.info(
    `${name}: arrived_per_second=${show(delays.length / elapsed, 0)} p50_ms=${show(quantile(delays, 0.5), 1)} p99_ms=${show(quantile(delays, 0.99), 1)}`,
  )
}

console.info(`processes=${processes} followed_by_each=${FOLLOWED} bound_per_second=${BOUND}`)
const connection = bench.connection
await measure('channels_of_the_followed', () => new PostgresWakeups({ connection, log }))
await measure('one_channel', () => new OneChannelWakeups(connection))
