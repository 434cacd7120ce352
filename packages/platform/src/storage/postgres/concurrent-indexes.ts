import { StartError } from '../../kit/start-error.ts'
import type { Queryable } from './database.ts'

/** An index that is built while others write to its table. */
export interface ConcurrentIndex {
  readonly name: string
  readonly sql: string
}

/** First line of a migration that runs outside of transactions. */
const marker = '-- outside a transaction'

/**
 * Returns the indexes that a migration builds outside of transactions; null if it is to run in one.
 * @throws StartError if it holds another statement, which would stay half done if the service were killed
 */
export function readConcurrentIndexes(name: string, sql: string): readonly ConcurrentIndex[] | null {
  if (!sql.startsWith(`${marker}\n`)) return null
  const statements = sql
    .replaceAll(/^--.*$/gm, '')
    .split(/;\s*(?:\n|$)/)
    .map(statement => statement.trim())
    .filter(Boolean)
  return statements.map(statement => {
    const index = /^create (?:unique )?index concurrently ([a-z_]+)\s+on\s/.exec(statement)?.[1]
    if (index === undefined) {
      throw new StartError(
        `migration ${name} may hold only "create index concurrently <name> on …" outside a transaction`,
      )
    }
    return { name: index, sql: statement }
  })
}

/** Builds the indexes that are missing, and anew those of which a killed service left a part. */
export async function createIndexes(session: Queryable, indexes: readonly ConcurrentIndex[]): Promise<void> {
  for (const { name, sql } of indexes) {
    const { rows } = await session.query<{ whole: boolean }>(
      'select indisvalid as whole from pg_index where indexrelid = to_regclass($1)',
      [name],
    )
    if (rows[0]?.whole === true) continue
    if (rows[0] !== undefined) await session.query(`drop index concurrently ${name}`)
    await session.query(sql)
  }
}
