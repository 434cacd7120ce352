import { randomUUID } from 'node:crypto'
import { type CheckpointRow, findResumable, markDamaged } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { type RestoreRefusal, RestoreRefused } from '@berth/core/checkpoints/errors.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { restoreTree } from '@berth/core/checkpoints/restore-tree.ts'
import { markBrought } from '@berth/core/sessions/leases/brought-sql.ts'
import { startAgentFrom } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { readRecap } from '@berth/core/sessions/runs/recap.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { tellIfLong } from './tell-if-long.ts'

/** The Session has earlier work that cannot be restored; continuing without it would be false. */
export class ResumeUnavailable extends Error {
  override readonly name = 'ResumeUnavailable'
}

/**
 * Restores a fresh sandbox, in which nothing runs yet, to the state of the Session's last sealed Run. A Session without
 * earlier work starts empty.
 *
 * @returns true if there was earlier work
 * @throws ResumeUnavailable if the checkpoint is missing or damaged; a damaged one is never offered again
 * @throws RestoreRefused if this host or the store failed; the checkpoint stays usable
 */
export async function restoreSession(
  context: ExecutionContext,
  claim: Claim,
  leaseId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { db, clock } = context
  const checkpoint = await findResumable(db, claim)
  if (checkpoint === null && !(await hasEarlierWork(db, claim, claim.runId))) return false
  if (checkpoint === null) throw new ResumeUnavailable('no checkpoint to go on from')
  const begunMs = performance.now()
  await tellIfLong(context, claim, 'restore', () => writeTrees(context, claim, checkpoint, leaseId, signal))
  // A parked Run continues in the middle of its own conversation.
  const excluded = checkpoint.run_id === claim.runId ? null : claim.runId
  const recap = checkpoint.conversation === 'exact' ? null : await readRecap(db, claim, { without: excluded })
  await underFence(context, claim, async tx => {
    const now = clock.now()
    await startAgentFrom(tx, leaseId, { agentSessionId: checkpoint.agent_session_id, recap })
    if (checkpoint.brought !== null) await markBrought(tx, leaseId, checkpoint.brought)
    const data = {
      activityId: randomUUID(),
      name: 'restore',
      kind: 'other',
      title: `Workspace restored as run ${checkpoint.run_id} left it, without its running processes`,
      status: 'succeeded',
      durationMs: Math.round(performance.now() - begunMs),
    }
    await appendEvents(tx, claim, [{ type: 'svc.activity.completed', visibility: 'transcript', data }], now)
  })
  return true
}

/** Refusals because of a damaged checkpoint; the others come from this host or an unavailable store. */
const damages: ReadonlySet<RestoreRefusal> = new Set(['missing', 'corrupt', 'malformed', 'over_limit'])

async function writeTrees(
  context: ExecutionContext,
  claim: Claim,
  checkpoint: CheckpointRow,
  leaseId: string,
  signal: AbortSignal,
): Promise<void> {
  const { blobs, checkpointLimits, driver } = context
  const shared = { blobs, signal }
  try {
    await restoreTree({
      ...shared,
      manifest: Buffer.from(checkpoint.workspace_manifest),
      tree: treeOf(driver, leaseId, 'workspace'),
      skip: platformNames,
      limits: checkpointLimits.workspace,
    })
    if (checkpoint.home_manifest === null) return
    await restoreTree({
      ...shared,
      manifest: Buffer.from(checkpoint.home_manifest),
      tree: treeOf(driver, leaseId, 'home'),
      limits: checkpointLimits.home,
    })
  } catch (error) {
    if (!(error instanceof RestoreRefused) || !damages.has(error.code)) throw error
    await underFence(context, claim, tx => markDamaged(tx, claim, checkpoint.run_id, context.clock.now()))
    throw new ResumeUnavailable('the checkpoint is damaged', { cause: error })
  }
}
