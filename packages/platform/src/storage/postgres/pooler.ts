import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { StartError } from '../../kit/start-error.ts'
import { DatabaseUnavailable, isUnavailable } from './database-errors.ts'
import { clientConfig, type DatabaseOptions } from './pool.ts'

/** Selects the server process behind a connection; its start time tells two servers behind one address apart. */
const whoServes = `
  select pid::text || ' ' || backend_start::text as server from pg_stat_activity where pid = pg_backend_pid()`

/**
 * Makes sure that the service can work through a pooler, if there is one. A pooler that shares server processes between
 * connections has to keep prepared statements, and needs a second way past it: LISTEN hears nothing behind it. Without these
 * a start would succeed, and every other request fail.
 * @param direct options of connections past the pooler; the same object if no such way is set
 * @throws StartError if the pooler shares processes and does not keep statements, or if there is no way past it
 * @throws DatabaseUnavailable
 */
export async function requireFitPooler(options: DatabaseOptions, direct: DatabaseOptions): Promise<void> {
  const shares = await sharesConnections(options, 'DATABASE_URL')
  if (direct === options) {
    if (!shares) return
    throw new StartError(
      'DATABASE_URL goes through a pooler that shares connections of the server, such as PgBouncer in transaction mode: wake-ups and prepared statements fail there. Set pool_mode to session, name the server itself, or set BERTH_DATABASE_DIRECT_URL to the server behind PgBouncer 1.21 or newer (docs/operations.md)',
    )
  }
  if (await sharesConnections(direct, 'BERTH_DATABASE_DIRECT_URL')) {
    throw new StartError(
      'BERTH_DATABASE_DIRECT_URL goes through a pooler that shares connections of the server: wake-ups fail there. It has to name the server itself (docs/operations.md)',
    )
  }
  await requireSameServer(options, direct)
  if (shares && !(await keepsStatements(options))) {
    throw new StartError(
      'the pooler of DATABASE_URL shares connections of the server and keeps no prepared statements: use PgBouncer 1.21 or newer with max_prepared_statements set, or set pool_mode to session (docs/operations.md)',
    )
  }
}

/**
 * Returns true if connections share server processes, as behind PgBouncer in transaction mode.
 *
 * Two connections ask by turns which process serves them. Whether a pooler hands out its most or its least recently
 * used connection, one of the two sees the other's process, or a different one than before.
 */
async function sharesConnections(options: DatabaseOptions, setting: string): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  // Not without `await`: the connections end with this function.
  return await explained(setting, async () => {
    const [first, second] = [await connect(options, stack), await connect(options, stack)]
    const seen: [Set<string>, Set<string>] = [new Set(), new Set()]
    for (const turn of [0, 0, 1, 1, 0, 1] as const) {
      const { rows } = await (turn === 0 ? first : second).query<{ server: string }>(whoServes)
      seen[turn].add(rows[0]?.server ?? '')
    }
    return !(seen[0].size === 1 && seen[1].size === 1 && seen[0].isDisjointFrom(seen[1]))
  })
}

/**
 * Returns true if a pooler prepares statements again at each server process. It then gives them names of its own, because
 * clients choose the same name for different statements; one that only passes names on cannot tell them apart.
 */
async function keepsStatements(options: DatabaseOptions): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  const client = await connect(options, stack)
  const name = `berth-${randomUUID()}`
  await client.query('begin')
  await client.query({ name, text: 'select 1' })
  const { rows } = await client.query<{ passed: boolean }>({
    text: 'select exists (select 1 from pg_prepared_statements where name = $1) as passed',
    values: [name],
  })
  await client.query('commit')
  return rows[0]?.passed === false
}

async function requireSameServer(options: DatabaseOptions, direct: DatabaseOptions): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const [through, past] = [await connect(options, stack), await connect(direct, stack)]
  const where = 'select current_database()::text as name, pg_postmaster_start_time()::text as since'
  const [a, b] = await Promise.all(
    [through, past].map(async client => (await client.query<{ name: string; since: string }>(where)).rows[0]),
  )
  if (a?.name === b?.name && a?.since === b?.since) return
  throw new StartError(
    `BERTH_DATABASE_DIRECT_URL must name the database of DATABASE_URL (${a?.name}), it names ${b?.name} of another server or start`,
  )
}

/** Runs a check, and explains errors of a pooler. */
async function explained<T>(setting: string, check: () => Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    const parameter = /unsupported startup parameter: (\w+)/.exec(error instanceof Error ? error.message : '')?.[1]
    if (parameter === undefined) throw isUnavailable(error) ? new DatabaseUnavailable(error) : error
    throw new StartError(
      `the pooler in front of the database refuses the parameter ${parameter}: add statement_timeout and idle_in_transaction_session_timeout to ignore_startup_parameters of PgBouncer, or let ${setting} name the server itself (docs/operations.md)`,
      { cause: error },
    )
  }
}

async function connect(options: DatabaseOptions, stack: AsyncDisposableStack): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(options))
  // Every failed query also rejects.
  client.on('error', () => {})
  stack.defer(() => client.end().catch(() => undefined))
  await client.connect()
  return client
}
