import { pino } from 'pino'
import { clientConfig } from '../../packages/platform/src/storage/postgres/pool.ts'
import { PostgresWakeups } from '../../packages/platform/src/storage/postgres/wakeups.ts'
import { type BenchDatabase, quiet } from './bench-database.ts'

/** Starts wake-ups on the bench's database, to publish to processes that serve it. */
export async function startBenchWakeups({ connection }: BenchDatabase): Promise<PostgresWakeups> {
  const wakeups = new PostgresWakeups({
    connection: clientConfig({ connection, log: quiet }),
    log: pino({ level: 'silent' }),
  })
  await wakeups.start()
  return wakeups
}
