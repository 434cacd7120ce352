import { join } from 'node:path'
import type { DatabaseSettings } from '@berth/platform/settings/database.ts'
import { embeddedConnection } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { findNative } from '@berth/platform/storage/embedded/layout.ts'
import { requireSameKey } from '@berth/platform/storage/keys/deployment-key.ts'
import { couldChangeEvents } from '@berth/platform/storage/postgres/database-roles.ts'
import { pendingMigrations, requireServer } from '@berth/platform/storage/postgres/migrate.ts'
import { type DatabaseOptions, openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { requireFitPooler } from '@berth/platform/storage/postgres/pooler.ts'
import { runProgram } from '@berth/sandboxes/linux/run-program.ts'
import { type Finding, failure, ok, type Report, reasonOf, warning } from './finding.ts'

const quiet = { info() {}, warn() {}, error() {} }

/** A deployment's database and the key that belongs to it. */
export interface ExaminedDatabase {
  readonly settings: DatabaseSettings
  readonly dataDir: string
  readonly masterKey: Buffer | undefined
  readonly production: boolean
  /** Whether a service runs on the data directory, and with it the embedded database. */
  readonly serving: boolean
}

/**
 * Checks the database as a start does, but changes nothing: no migration, no role, no key.
 * @param use called with the database if it answers
 */
export async function examineDatabase(
  examined: ExaminedDatabase,
  report: Report,
  use: (db: PooledDatabase) => Promise<void>,
): Promise<void> {
  const { settings, serving } = examined
  if (settings.url === undefined && !serving) return report(await examineBinaries())
  try {
    const options = optionsOf(settings.url, examined.dataDir)
    if (settings.url !== undefined) {
      const { directUrl } = settings
      await requireFitPooler(options, directUrl === undefined ? options : optionsOf(directUrl, examined.dataDir))
    }
    await using db = openDatabase(options)
    await requireServer(db)
    report(ok('database', await describe(db, settings)))
    const pending = await pendingMigrations(db)
    if (pending > 0) {
      report(warning('migrations', `${pending} of this release are not applied`, 'script/server applies them'))
    } else {
      report(ok('migrations', 'the schema is that of this release'))
      await examineOwnership(db, examined, report)
      await use(db)
    }
  } catch (error) {
    report(failure('database', reasonOf(error), remedyOf(settings)))
  }
}

function optionsOf(url: string | undefined, dataDir: string): DatabaseOptions {
  const connection = url === undefined ? embeddedConnection(dataDir) : { connectionString: url }
  return { connection, log: quiet, connections: 1 }
}

const remedyOf = ({ url }: DatabaseSettings): string =>
  url === undefined ? 'script/server' : 'psql "$DATABASE_URL" -c "select version()"'

/** The embedded server cannot be asked while no service runs it, so its program is. */
async function examineBinaries(): Promise<Finding> {
  try {
    const version = (await runProgram(join(findNative(), 'bin/postgres'), ['--version'])).trim()
    return ok('database', `embedded, ${version}; it starts with the service`)
  } catch (error) {
    return failure('database', reasonOf(error), 'npm ci')
  }
}

async function describe(db: PooledDatabase, { url, directUrl }: DatabaseSettings): Promise<string> {
  const { rows } = await db.query<{ version: string; role: string }>(
    "select current_setting('server_version') as version, current_user::text as role",
  )
  const kind = url === undefined ? 'embedded, ' : ''
  const way = directUrl === undefined ? '' : ', through a pooler, with a way past it for wake-ups'
  return `${kind}PostgreSQL ${rows[0]?.version} as ${rows[0]?.role}${way}`
}

async function examineOwnership(db: PooledDatabase, examined: ExaminedDatabase, report: Report): Promise<void> {
  const { dataDir, masterKey, production } = examined
  if (production && (await couldChangeEvents(db))) {
    report(
      warning(
        'database role',
        'the role owns the log of Events and could change it',
        'give the service a role of its own: docs/operations.md#separate-the-roles-of-the-database',
      ),
    )
  }
  try {
    const id = await requireSameKey(db, { key: masterKey, dataDir })
    report(ok('master key', id === null ? 'none yet: the first start makes it' : `key ${id}, which this database uses`))
  } catch (error) {
    report(failure('master key', reasonOf(error), 'docs/operations.md#keep-the-master-key'))
  }
}
