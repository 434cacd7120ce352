import { startAgentFrom } from '../../sessions/leases/lease-sql.ts'
import { readRecap } from '../../sessions/runs/recap.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/**
 * Reads the recap for an agent process that cannot load its predecessor's conversation. It stores the recap with the
 * lease before the process is asked for anything, so a worker that takes over tells the same.
 */
export async function keepRecap(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<string | null> {
  const recap = await readRecap(context.db, claim, { without: claim.runId })
  await underFence(context, claim, tx => startAgentFrom(tx, leaseId, { agentSessionId: null, recap }))
  return recap
}
