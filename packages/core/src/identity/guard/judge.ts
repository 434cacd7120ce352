import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { MeteringFault } from './principal.ts'

/** The guards' statements: their arguments are the parts of a presented bearer, then those of metering. */
const statements = {
  judge_bearer:
    'select outcome, remaining, (authority).* from judge_bearer($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)',
  judge_console:
    'select outcome, remaining, session_id, person_id, sign_in_id, session_expires_at, signed_in_at, (authority).* from judge_console($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)',
  judge_gateway_bearer: 'select * from judge_gateway_bearer($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)',
} as const

/**
 * Asks a guard's function in the database, which answers with one row.
 * @param values its arguments, in order
 * @throws DatabaseUnavailable
 * @throws MeteringFault for any other failure: a request that was not judged is refused, never let through unmetered
 */
export async function judge<Row>(
  db: Queryable,
  guard: keyof typeof statements,
  values: readonly unknown[],
): Promise<Row> {
  try {
    const { rows } = await db.query<Row>({ name: guard.replaceAll('_', '-'), text: statements[guard], values })
    const row = rows[0]
    if (row === undefined) throw new Error(`${guard} returned no row`)
    return row
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    throw new MeteringFault('the guard failed', { cause: error })
  }
}
