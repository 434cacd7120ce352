import type { Queryable } from './database.ts'

/** Returns what no other database has: the identity that also marks its blob store. */
export async function readDeploymentId(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ id: string }>('select blob_store::text as id from deployment')
  const [row] = rows
  if (row === undefined) throw new Error('the table deployment has lost its row')
  return row.id
}
