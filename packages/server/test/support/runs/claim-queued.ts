import type { RunClaim, Taken } from '../../../src/execution/claim/claim.ts'
import { claimRun } from '../../../src/execution/claim/claim-queued-sql.ts'
import type { Claimant } from '../../../src/execution/claim/claim-sql.ts'
import type { Queryable } from '../../../src/storage/postgres/database.ts'

/** Claims queued Runs for a worker that waits for no other. */
export async function claimQueued(db: Queryable, by: Claimant, limit: number): Promise<Taken<RunClaim>[]> {
  const claims: Taken<RunClaim>[] = []
  while (claims.length < limit) {
    const { claim } = await claimRun(db, by, { headStartMs: 0, pending: [], away: [] })
    if (claim === null) break
    claims.push(claim)
  }
  return claims
}
