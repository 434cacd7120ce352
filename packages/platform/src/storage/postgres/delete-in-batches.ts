import type { Queryable } from './database.ts'

const AT_ONCE = 10_000

/** Rows of a table, called `r`. All of this is constant text of the code, but for the values. */
export interface DeletedRows {
  readonly table: string
  /** Joins to `r` that the condition needs. */
  readonly join?: string
  readonly where: string
  readonly values: readonly unknown[]
}

/**
 * Deletes rows in batches, so that no statement holds many locks or outlives its bound. It skips rows that another
 * transaction has locked, which the next call finds again.
 * @returns how many rows there were
 */
export async function deleteInBatches(
  db: Queryable,
  { table, join = '', where, values }: DeletedRows,
  signal: AbortSignal,
): Promise<number> {
  for (let deleted = 0; ; ) {
    signal.throwIfAborted()
    const { rowCount } = await db.query({
      text: `
        delete from ${table} where ctid = any (array(
          select r.ctid from ${table} r ${join} where ${where} limit ${AT_ONCE} for update of r skip locked))`,
      values,
    })
    deleted += rowCount
    if (rowCount < AT_ONCE) return deleted
  }
}
