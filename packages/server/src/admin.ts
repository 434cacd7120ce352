import { readFileSync } from 'node:fs'
import { reportUsage, type UsageGrouping, type UsageRow } from './gateway/accounting/usage-report.ts'
import { loadSettings } from './settings.ts'
import { StartError } from './start-error.ts'
import { DatabaseUnavailable } from './storage/database-errors.ts'
import { embeddedConnection } from './storage/embedded-postgres.ts'
import { openDatabase } from './storage/pool.ts'

const quiet = { info() {}, warn() {}, error() {} }

/**
 * What the models of a deployment were used for, read from its database: the one that the settings name or, beside a
 * service that runs, its embedded one.
 * @param variables the environment, as the service reads it
 * @throws StartError in one line, for what an operator can mend
 */
export async function readUsage(
  variables: Readonly<Record<string, string | undefined>>,
  asked: { readonly by: UsageGrouping; readonly since: Date },
): Promise<readonly UsageRow[]> {
  const { databaseUrl, dataDir } = loadSettings(variables, path => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  })
  const connection = databaseUrl === undefined ? embeddedConnection(dataDir) : { connectionString: databaseUrl }
  await using db = openDatabase({ connection, log: quiet, connections: 1 })
  try {
    return await reportUsage(db, asked.by, asked.since)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    const where = databaseUrl === undefined ? `no service runs on ${dataDir}` : 'the database does not answer'
    throw new StartError(`${where}; start it, or name the database with DATABASE_URL`, { cause: error })
  }
}
