import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../kit/start-error.ts'
import type { Database, Queryable } from './database.ts'

/** One numbered file of SQL. */
interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** Arbitrary, but the same in every release: services of any version wait for one another. */
const advisoryLock = 7_215_530_114
const leastServerVersion = 150_000

const ownMigrations = join(import.meta.dirname, '../migrations')

/**
 * Brings the schema to this release. Each missing migration runs in its own transaction under an advisory lock, so any
 * number of services may start at once. A migration may hold any statement that PostgreSQL allows in a transaction.
 * @returns the numbers of the migrations that it applied
 * @throws StartError if the schema is newer than this release, or an applied file has changed since
 */
export async function migrate(database: Database, options: { directory?: string } = {}): Promise<number[]> {
  const migrations = await readMigrations(options.directory ?? ownMigrations)
  await requireServer(database)
  // A role that may not change the schema can start on one that is up to date.
  if (nextOf(migrations, await readApplied(database)) === undefined) return []
  const applied: number[] = []
  for (;;) {
    const number = await database.transaction(transaction => applyNext(transaction, migrations), { unbounded: true })
    if (number === undefined) return applied
    applied.push(number)
  }
}

/**
 * Checks the schema against this release, for readiness: a newer release may have migrated it since this process began.
 * @throws StartError unless exactly the migrations of this release have been applied
 */
export async function requireMigrated(database: Queryable, options: { directory?: string } = {}): Promise<void> {
  const migrations = await readMigrations(options.directory ?? ownMigrations)
  const { rows } = await database.query<Migration>('select number, name, sha256 from schema_migrations order by number')
  const next = nextOf(migrations, rows)
  if (next !== undefined) throw new StartError(`migration ${next.name} has not been applied`)
}

async function readApplied(database: Queryable): Promise<readonly Migration[]> {
  const { rows: found } = await database.query<{ there: boolean }>(
    "select to_regclass('schema_migrations') is not null as there",
  )
  if (found[0]?.there !== true) return []
  const { rows } = await database.query<Migration>('select number, name, sha256 from schema_migrations order by number')
  return rows
}

async function applyNext(transaction: Queryable, migrations: readonly Migration[]): Promise<number | undefined> {
  await transaction.query('select pg_advisory_xact_lock($1)', [advisoryLock])
  await transaction.query(`
    create table if not exists schema_migrations (
      number integer primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now()
    )`)
  const { rows } = await transaction.query<Migration>(
    'select number, name, sha256 from schema_migrations order by number',
  )
  const next = nextOf(migrations, rows)
  if (next === undefined) return undefined
  try {
    await transaction.query(next.sql)
  } catch (error) {
    throw new StartError(`migration ${next.name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  await transaction.query('insert into schema_migrations (number, name, sha256) values ($1, $2, $3)', [
    next.number,
    next.name,
    next.sha256,
  ])
  return next.number
}

/** Returns the next migration; the applied ones must be exactly the first ones of this release. */
function nextOf(
  migrations: readonly Migration[],
  applied: readonly { number: number; name: string; sha256: string }[],
): Migration | undefined {
  for (const [index, row] of applied.entries()) {
    const known = migrations[index]
    if (known === undefined) {
      throw new StartError(
        `the database is at migration ${applied.at(-1)?.number}, but this release knows only ${migrations.length}: start a newer release`,
      )
    }
    if (known.number !== row.number || known.sha256 !== row.sha256) {
      throw new StartError(`migration ${row.name} was applied with other content than this release's ${known.name}`)
    }
  }
  return migrations[applied.length]
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter(name => name.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])
      if (number !== index + 1) throw new StartError(`migration ${name} is out of order: numbers are 0001, 0002, …`)
      const sql = await readFile(join(directory, name), 'utf8')
      return { number, name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function requireServer(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ version: number; encoding: string }>(
    "select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding",
  )
  const server = rows[0]
  if (server === undefined) return
  if (server.version < leastServerVersion) {
    throw new StartError(`PostgreSQL 15 or newer is needed, the database is ${Math.floor(server.version / 10_000)}`)
  }
  if (server.encoding !== 'UTF8') throw new StartError(`the database must be encoded in UTF8, it is ${server.encoding}`)
}
