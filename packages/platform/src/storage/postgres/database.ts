import type { MasterKey } from '../master-key.ts'

/** A statement. The server parses a named one once per connection; a name stands for one text for ever. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Rows that a statement returned, and the number that it touched. */
export interface Result<Row> {
  readonly rows: Row[]
  readonly rowCount: number
}

/** Runs single statements. The caller declares with `Row` the columns that the statement selects. */
export interface Queryable {
  /** Opens the sealed secrets in rows. A handle without it cannot read such rows. */
  readonly masterKey?: MasterKey | undefined
  query<Row = never>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>>
  /** Calls `tell` once the transaction has committed, and never if it is rolled back. Absent: no transaction is open. */
  afterCommit?(listener: () => void): void
}

/** How to run a transaction. */
export interface TransactionOptions {
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
  readonly readOnly?: boolean
  /** Removes the time limit of its statements: for migrations, never for requests. */
  readonly unbounded?: boolean
}

/**
 * The database as domain code sees it. Eight-byte integers are numbers (beyond 2^53 they are errors), timestamps are
 * Dates, numerics are strings.
 */
export interface Database extends Queryable {
  /**
   * Runs `work` and commits its statements as one. After a deadlock or a serialization failure it runs `work` again, up
   * to five times in all. So `work` must only send SQL on the handle that it gets; in particular it never waits for the
   * network.
   * @throws DatabaseUnavailable, or the error of `work` after everything was rolled back
   */
  transaction<T>(work: (transaction: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** Returns all rows of a statement. */
export async function queryRows<Row>(db: Queryable, statement: Statement): Promise<Row[]> {
  const { rows } = await db.query<Row>(statement)
  return rows
}

/** Returns the first row of a statement; null if there is none. */
export async function queryRow<Row>(db: Queryable, statement: Statement): Promise<Row | null> {
  const [row = null] = await queryRows<Row>(db, statement)
  return row
}

/** Returns the row of a statement that always has one. @throws Error if it has none */
export async function queryOne<Row>(db: Queryable, statement: Statement): Promise<Row> {
  const row = await queryRow<Row>(db, statement)
  if (row === null) throw new Error(`the statement returned no row: ${statement.text.trim()}`)
  return row
}

/** Returns true if a statement returns a row. */
export async function queryAny(db: Queryable, statement: Statement): Promise<boolean> {
  return (await queryRow(db, statement)) !== null
}

/** Returns true if a statement changed a row. */
export async function queryChanged(db: Queryable, statement: Statement): Promise<boolean> {
  return (await db.query(statement)).rowCount > 0
}
