import type { SessionKey } from '../kit/session-key.ts'
import type { Queryable } from '../storage/postgres/database.ts'
import { dropCheckpoints } from './checkpoint-sql.ts'

/**
 * Removes every checkpoint of a Session, even an intact one before the last: a later seal must not build on packs whose
 * blobs may be missing. The caller holds the Session's lock.
 */
export async function forgetCheckpoints(tx: Queryable, key: SessionKey): Promise<void> {
  await dropCheckpoints(tx, key)
}
