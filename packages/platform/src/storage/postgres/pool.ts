import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Log } from '../../kit/log.ts'
import type { MasterKey } from '../master-key.ts'
import type { Database, Queryable, Result, Statement, TransactionOptions } from './database.ts'
import { DatabaseUnavailable, isUnavailable } from './database-errors.ts'

/** Address of the database: a server's URL, or the embedded server's socket. */
export type ConnectionTarget =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string }

/** Options of {@link openDatabase}. */
export interface DatabaseOptions {
  readonly connection: ConnectionTarget
  readonly log: Log
  /** Maximum number of connections that this process opens. */
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** The server cancels a statement that takes longer. */
  readonly statementTimeoutMs?: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName?: string
}

/**
 * A pool of connections. It survives any outage of its database: statements fail during the outage and succeed after
 * it.
 */
export interface PooledDatabase extends Database, AsyncDisposable {
  /** Opens the sealed secrets in rows. It is set after the start has checked it against the database. */
  masterKey: MasterKey | undefined
  readonly usage: { readonly open: number; readonly idle: number; readonly waiting: number }
  /** Waits for running statements, then closes every connection. */
  close(): Promise<void>
}

/** What `pg_stat_activity` shows of a serving process unless its options say otherwise. */
const applicationName = 'berth'

const maxAttempts = 5
/** Longest delay of a timer; the driver takes 0 for its default. */
const longestTimerMs = 2 ** 31 - 1

/** Settings of a single connection, for the few that cannot come from a pool (LISTEN). */
export function clientConfig(options: DatabaseOptions): pg.ClientConfig {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000
  return {
    ...options.connection,
    application_name: options.applicationName ?? applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    // The client's own timer, for a frozen server that cannot cancel the statement itself.
    query_timeout: statementTimeoutMs + 5_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser },
  }
}

/** Opens a pool. It connects with the first statement. */
export function openDatabase(options: DatabaseOptions): PooledDatabase {
  return new Pool(options)
}

class Pool implements PooledDatabase {
  masterKey: MasterKey | undefined
  readonly #pool: pg.Pool
  #closed: Promise<void> | undefined

  constructor(options: DatabaseOptions) {
    this.#pool = new pg.Pool({
      ...clientConfig(options),
      max: options.connections ?? 20,
      idleTimeoutMillis: 60_000,
      // Statements sent without waiting for each other travel together; the server runs them in order.
      pipeline: true,
    })
    // A connection may die while idle, or while lent out between two statements. Without a listener, either would end
    // the process; with one, the next statement on it fails and says so.
    this.#pool.on('error', ({ message }) => {
      // The pool counts a connection as closed before the server has read its goodbye; an error after that is no loss.
      if (this.#closed === undefined) options.log.warn({ reason: message }, 'an idle database connection was lost')
    })
    this.#pool.on('connect', client => client.on('error', () => {}))
  }

  get usage(): PooledDatabase['usage'] {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { open: totalCount, idle: idleCount, waiting: waitingCount }
  }

  query<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>> {
    return this.#lend(client => run<Row>(client, statement, values))
  }

  async transaction<T>(work: (transaction: Queryable) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#lend(client => transact(client, work, options, this.masterKey))
      } catch (error) {
        if (attempt === maxAttempts || !isTransient(error)) throw error
        await sleep(Math.random() * 5 * 2 ** attempt)
      }
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#pool.end()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Lends a connection. It closes a connection in an unknown state instead of lending it again. */
  async #lend<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch(error => {
      throw isUnavailable(error) ? new DatabaseUnavailable(error) : error
    })
    let broken = true
    try {
      const value = await use(client)
      broken = false
      return value
    } catch (error) {
      broken = error instanceof DatabaseUnavailable || error instanceof RollbackFailed
      throw error instanceof RollbackFailed ? error.cause : error
    } finally {
      client.release(broken)
    }
  }
}

/** Both the work and its rollback failed. The cause is the error of the work. */
class RollbackFailed extends Error {}

async function transact<T>(
  client: pg.PoolClient,
  work: (transaction: Queryable) => Promise<T>,
  options: TransactionOptions,
  masterKey: MasterKey | undefined,
): Promise<T> {
  let open = true
  const listeners: (() => void)[] = []
  /** The failure that ended the transaction. Statements sent after it fail as well, but report only that they do. */
  let failure: unknown
  const transaction: Queryable = {
    masterKey,
    afterCommit: listener => void listeners.push(listener),
    async query<Row>(statement: string | Statement, values?: readonly unknown[]) {
      // The connection may already serve another transaction.
      if (!open) throw new Error('a statement was sent after its transaction had ended')
      try {
        return await run<Row>(client, statement, values, options.unbounded === true ? longestTimerMs : undefined)
      } catch (error) {
        if (!isAborted(error)) failure = error
        // Statements sent together fail together: a caller that sees the second failure first must still get the cause.
        throw failure ?? error
      }
    },
  }
  const isolation = options.isolation === undefined ? '' : ` isolation level ${options.isolation}`
  // Not awaited: the first statement of the work travels with it. If it fails, the connection is gone.
  const begun = [run(client, `begin${isolation}${options.readOnly === true ? ' read only' : ''}`)]
  let value: T
  try {
    if (options.unbounded === true) begun.push(run(client, 'set local statement_timeout = 0'))
    ;[value] = await Promise.all([work(transaction), ...begun])
  } catch (error) {
    open = false
    if (error instanceof DatabaseUnavailable) throw error
    await run(client, 'rollback').catch(() => {
      throw new RollbackFailed('rollback failed', { cause: error })
    })
    throw error
  }
  open = false
  const { command } = await client.query('commit').catch(error => {
    throw isUnavailable(error) ? new DatabaseUnavailable(error, { outcomeUnknown: true }) : error
  })
  // If `work` swallowed a failed statement, the server answers COMMIT with ROLLBACK and no error.
  if (command === 'ROLLBACK') {
    if (failure instanceof DatabaseUnavailable) throw failure
    throw new Error('the transaction was rolled back: a failed statement was ignored in it', { cause: failure })
  }
  for (const listener of listeners) listener()
  return value
}

async function run<Row>(
  client: pg.PoolClient,
  statement: string | Statement,
  values?: readonly unknown[],
  timeoutMs?: number,
): Promise<Result<Row>> {
  const { name, text, values: own } = typeof statement === 'string' ? { text: statement } : { values, ...statement }
  const parameters = own ?? values
  try {
    gather(client)
    const result = await client.query({
      text,
      ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
      ...(name === undefined ? {} : { name }),
      ...(parameters === undefined ? {} : { values: [...parameters] }),
    })
    return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
  } catch (error) {
    throw isUnavailable(error) ? new DatabaseUnavailable(error) : error
  }
}

/**
 * Sends all statements of one turn of the event loop in one write. Separate writes each wake the server, which then
 * takes the processor from the sender: a batch of five cost five times as much to send.
 */
function gather(client: pg.PoolClient): void {
  const { stream } = client.connection
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** Returns true for a serialization failure or a deadlock: PostgreSQL asks for the same transaction again. */
function isTransient(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** Returns true for a statement in a transaction in which an earlier one has failed. */
const isAborted = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === '25P02'

const int8Oid = 20
const int8ArrayOid = 1016

const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid: number, format?: 'text' | 'binary') => {
  if (format === 'binary') return pg.types.getTypeParser(oid, 'binary')
  if (oid === int8Oid) return parseInt8
  const parse = pg.types.getTypeParser(oid, 'text')
  if (oid !== int8ArrayOid) return parse
  return (text: string) => parse(text).map((item: string | null) => (item === null ? null : parseInt8(item)))
}

function parseInt8(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is beyond what a number holds exactly`)
  return number
}
