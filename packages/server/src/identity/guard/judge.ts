import type { Queryable } from '../../storage/postgres/database.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { MeteringFault } from './principal.ts'

/**
 * Asks a guard's function in the database, which answers with one row.
 * @param values its eight arguments
 * @throws DatabaseUnavailable
 * @throws MeteringFault for any other failure: a request that was not judged is refused, never let through unmetered
 */
export async function judge<Row>(
  db: Queryable,
  guard: 'judge_credential' | 'judge_gateway_credential',
  values: readonly unknown[],
): Promise<Row> {
  try {
    const { rows } = await db.query<Row>({
      name: guard.replaceAll('_', '-'),
      text: `select * from ${guard}($1, $2, $3, $4, $5, $6, $7, $8)`,
      values,
    })
    const row = rows[0]
    if (row === undefined) throw new Error(`${guard} returned no row`)
    return row
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    throw new MeteringFault('the guard failed', { cause: error })
  }
}
