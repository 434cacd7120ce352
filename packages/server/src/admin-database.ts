import { isOpenToOthers, readIfThere } from './read-if-there.ts'
import { loadSettings, type Settings } from './settings.ts'
import { StartError } from './start-error.ts'
import { DatabaseUnavailable } from './storage/database-errors.ts'
import { embeddedConnection } from './storage/embedded-postgres.ts'
import type { PooledDatabase } from './storage/pool.ts'
import { openDatabase } from './storage/pool.ts'

/** The environment, as the service reads it. */
export type Variables = Readonly<Record<string, string | undefined>>

const quiet = { info() {}, warn() {}, error() {} }

/**
 * Works on a deployment's database: the one that the settings name or, beside a service that runs, its embedded one.
 * @throws StartError in one line where it cannot be reached
 */
export async function withDatabase<Result>(
  variables: Variables,
  work: (db: PooledDatabase, settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = loadSettings(variables, readIfThere, isOpenToOthers)
  const { databaseUrl, dataDir } = settings
  const connection = databaseUrl === undefined ? embeddedConnection(dataDir) : { connectionString: databaseUrl }
  await using db = openDatabase({ connection, log: quiet, connections: 1 })
  try {
    return await work(db, settings)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    const where = databaseUrl === undefined ? `no service runs on ${dataDir}` : 'the database does not answer'
    throw new StartError(`${where}; start it, or name the database with DATABASE_URL`, { cause: error })
  }
}
