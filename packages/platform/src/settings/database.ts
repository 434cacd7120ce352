import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'

/** Settings for the connections to PostgreSQL. */
export interface DatabaseSettings {
  /** Absent: the service runs an embedded PostgreSQL below the data directory. */
  readonly url: string | undefined
  /** URL of the server itself, past a pooler that `url` names; absent: `url`. */
  readonly directUrl: string | undefined
  /** URL of the role that owns the schema, if that is not the role of `url`. */
  readonly migrationUrl: string | undefined
  /** Maximum number of connections of this process. */
  readonly connections: number
}

export function readDatabase(env: Environment): DatabaseSettings {
  const url = (name: string, meaning: string, fallback: string) =>
    env.parsed(
      name,
      meaning,
      fallback,
      text => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
      'a postgres:// URL',
    )
  const database = {
    url: url(
      'DATABASE_URL',
      'A PostgreSQL server, version 15 or newer. Set it for more than one process, and for a database with standbys.',
      'an embedded PostgreSQL',
    ),
    directUrl: url(
      'BERTH_DATABASE_DIRECT_URL',
      'The same database without a pooler, for wake-ups, if `DATABASE_URL` goes through PgBouncer in transaction mode ([operations](operations.md#connect-through-pgbouncer)). Set it with a pooler.',
      'the same as `DATABASE_URL`',
    ),
    migrationUrl: url(
      'BERTH_MIGRATION_URL',
      'The same database under the role that owns its schema. That role migrates and grants, and the role of `DATABASE_URL` owns nothing ([operations](operations.md)). Set it if the service is not to own its tables.',
      'the role of `DATABASE_URL` migrates',
    ),
    connections: env.integer(
      'BERTH_DATABASE_CONNECTIONS',
      20,
      'Most database connections of this process. Lower it if many processes share the connections of one server, raise it if requests wait for one.',
    ),
  }
  if (database.directUrl !== undefined && database.url === undefined) {
    throw new StartError('BERTH_DATABASE_DIRECT_URL needs DATABASE_URL, which names the pooler')
  }
  if (database.migrationUrl !== undefined && database.url === undefined) {
    throw new StartError('BERTH_MIGRATION_URL needs DATABASE_URL, which names the role that the service works as')
  }
  return database
}
