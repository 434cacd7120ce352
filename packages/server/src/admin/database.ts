import type { Clock } from '@berth/platform/kit/clock.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { isOpenToOthers, readIfThere } from '@berth/platform/settings/read-if-there.ts'
import { loadSettings, type Settings } from '@berth/platform/settings/settings.ts'
import { embeddedConnection } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { readDatabaseClock } from '@berth/platform/storage/postgres/database-clock.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'

/** The service's environment. */
export type Variables = Readonly<Record<string, string | undefined>>

const quiet = { info() {}, warn() {}, error() {} }

/**
 * Runs `work` on a deployment's database: the one that the settings name, or the embedded one of a running service.
 *
 * @param work gets the database's clock, because the service's processes compare the times that it writes with theirs
 * @throws StartError in one line if it cannot be reached
 */
export async function withDatabase<Result>(
  variables: Variables,
  work: (db: PooledDatabase, settings: Settings, clock: Clock) => Promise<Result>,
): Promise<Result> {
  const settings = loadSettings(variables, readIfThere, isOpenToOthers)
  const { dataDir, database } = settings
  const connection = database.url === undefined ? embeddedConnection(dataDir) : { connectionString: database.url }
  await using db = openDatabase({ connection, log: quiet, connections: 1 })
  try {
    return await work(db, settings, await readDatabaseClock(db))
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    const where = database.url === undefined ? `no service runs on ${dataDir}` : 'the database does not answer'
    throw new StartError(`${where}; start it, or name the database with DATABASE_URL`, { cause: error })
  }
}
