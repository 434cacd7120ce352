import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { findPublication } from './publication-sql.ts'

/** A Publication as a merge sees it. */
export interface Delivered {
  readonly delivery: 'pull_request' | 'direct_branch'
  /** The pull request and the head that was published; null if there is nothing to merge. */
  readonly pull: { readonly number: number; readonly headOid: string } | null
}

/** Returns the Session's Publication; null if it has none of that id. */
export async function findDelivered(db: Queryable, key: SessionKey, id: string): Promise<Delivered | null> {
  const row = await findPublication(db, key, id)
  if (row === null) return null
  const { delivery, result } = row
  const pull = result?.pullRequest
  return {
    delivery,
    pull: result === null || pull === undefined ? null : { number: pull.number, headOid: result.commitSha },
  }
}
