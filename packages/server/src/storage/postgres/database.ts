import type { MasterKey } from '../master-key.ts'

/** A statement with a name is parsed once per connection; a name stands for one text for ever. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Rows that a statement answered, and how many it touched. */
export interface Result<Row> {
  readonly rows: Row[]
  readonly rowCount: number
}

/** What runs one statement. `Row` is the caller's word for what the statement selects. */
export interface Queryable {
  /** Opens the secrets that rows hold sealed. Absent: this handle cannot read such rows. */
  readonly masterKey?: MasterKey | undefined
  query<Row = never>(statement: string | Statement, values?: readonly unknown[]): Promise<Result<Row>>
}

/** How a transaction is run. */
export interface TransactionOptions {
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
  readonly readOnly?: boolean
  /** No bound on how long its statements take: for migrations, never for requests. */
  readonly unbounded?: boolean
}

/**
 * The database as domain code sees it. Integers of eight bytes are numbers (one beyond 2^53 is an error), timestamps are
 * Dates, numerics are strings.
 */
export interface Database extends Queryable {
  /**
   * Commits what `work` does as one. It is run again, up to five times in all, after a deadlock or a serialization
   * failure, so it must do nothing but SQL on the handle it is given; in particular it never waits for the network.
   * @throws DatabaseUnavailable, or what `work` threw after everything was rolled back
   */
  transaction<T>(work: (transaction: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>
}
