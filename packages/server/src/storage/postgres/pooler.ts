import pg from 'pg'
import { StartError } from '../../kit/start-error.ts'
import { DatabaseUnavailable, isUnavailable } from './database-errors.ts'
import { clientConfig, type DatabaseOptions } from './pool.ts'

/** Selects the server process behind a connection; its start time tells two servers behind one address apart. */
const whoServes = `
  select pid::text || ' ' || backend_start::text as server from pg_stat_activity where pid = pg_backend_pid()`

/**
 * Makes sure that each connection has its own server process. Behind PgBouncer in transaction mode it has not: LISTEN
 * hears nothing, and a connection does not know the statements that another prepared, without any error at the start.
 *
 * Two connections ask by turns which process serves them. Whether a pooler hands out its most or its least recently
 * used connection, one of the two sees the other's process, or a different one than before.
 * @throws StartError if connections are shared, or a pooler refuses the parameters of a connection
 * @throws DatabaseUnavailable
 */
export async function requireOwnConnections(options: DatabaseOptions): Promise<void> {
  await using stack = new AsyncDisposableStack()
  try {
    const [first, second] = [await connect(options, stack), await connect(options, stack)]
    const seen: [Set<string>, Set<string>] = [new Set(), new Set()]
    for (const turn of [0, 0, 1, 1, 0, 1] as const) {
      const { rows } = await (turn === 0 ? first : second).query<{ server: string }>(whoServes)
      seen[turn].add(rows[0]?.server ?? '')
    }
    if (seen[0].size === 1 && seen[1].size === 1 && seen[0].isDisjointFrom(seen[1])) return
  } catch (error) {
    const parameter = /unsupported startup parameter: (\w+)/.exec(error instanceof Error ? error.message : '')?.[1]
    if (parameter === undefined) throw isUnavailable(error) ? new DatabaseUnavailable(error) : error
    throw new StartError(
      `the pooler in front of the database refuses the parameter ${parameter}: add statement_timeout and idle_in_transaction_session_timeout to ignore_startup_parameters of PgBouncer, or let DATABASE_URL name the server itself (docs/operations.md)`,
      { cause: error },
    )
  }
  throw new StartError(
    'DATABASE_URL goes through a pooler that shares connections of the server, such as PgBouncer in transaction mode: wake-ups and prepared statements fail there. Set pool_mode to session, or name the server itself (docs/operations.md)',
  )
}

async function connect(options: DatabaseOptions, stack: AsyncDisposableStack): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(options))
  // Every failed query also rejects.
  client.on('error', () => {})
  stack.defer(() => client.end().catch(() => undefined))
  await client.connect()
  return client
}
