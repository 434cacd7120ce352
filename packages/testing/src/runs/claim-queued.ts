import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { RunClaim, Taken } from '@berth/worker/claim/claim.ts'
import { claimRun } from '@berth/worker/claim/claim-queued-sql.ts'
import type { Claimant } from '@berth/worker/claim/claim-sql.ts'

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
