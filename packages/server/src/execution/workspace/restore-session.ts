import { randomUUID } from 'node:crypto'
import { type CheckpointRow, findResumable, markDamaged } from '../../checkpoints/checkpoint-sql.ts'
import { type RestoreRefusal, RestoreRefused } from '../../checkpoints/errors.ts'
import { restoreTree } from '../../checkpoints/restore-tree.ts'
import { startAgentFrom } from '../../sessions/leases/lease-sql.ts'
import { appendEvents } from '../../sessions/log/append.ts'
import { hasEarlierWork } from '../../sessions/runs/run-sql.ts'
import type { Claim } from '../claim/claim-sql.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { readRecap } from './recap.ts'
import { platformNames } from './seal-run.ts'

/** Earlier work exists and cannot be brought back; going on without it would only pretend to go on. */
export class ResumeUnavailable extends Error {
  override readonly name = 'ResumeUnavailable'
}

/**
 * Brings a fresh sandbox, which nothing runs in yet, to where the Session's last sealed Run left off. A Session without
 * earlier work starts empty.
 * @returns whether there was any
 * @throws ResumeUnavailable where the checkpoint is missing or is not what it says; it is never offered again then.
 *   RestoreRefused where it is this host or the store that failed: the checkpoint stands
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
  const startedAt = clock.now()
  await writeTrees(context, claim, checkpoint, leaseId, signal)
  // A Run that was parked goes on in the middle of its own conversation.
  const told = checkpoint.run_id === claim.runId ? null : claim.runId
  const recap = checkpoint.conversation === 'exact' ? null : await readRecap(db, claim, told)
  await underFence(context, claim, async tx => {
    const now = clock.now()
    await startAgentFrom(tx, leaseId, { agentSessionId: checkpoint.agent_session_id, recap })
    const data = {
      activityId: randomUUID(),
      name: 'restore',
      kind: 'other',
      title: `Workspace restored as run ${checkpoint.run_id} left it; running processes are not`,
      status: 'succeeded',
      durationMs: now.getTime() - startedAt.getTime(),
    }
    await appendEvents(tx, claim, [{ type: 'svc.activity.completed', visibility: 'transcript', data }], now)
  })
  return true
}

/** Refusals that are of the checkpoint; the others are of this host or of a store that is away. */
const damages: ReadonlySet<RestoreRefusal> = new Set(['missing', 'corrupt', 'malformed', 'over_limit'])

async function writeTrees(
  context: ExecutionContext,
  claim: Claim,
  checkpoint: CheckpointRow,
  leaseId: string,
  signal: AbortSignal,
): Promise<void> {
  const trees = await context.driver.trees(leaseId)
  const shared = { program: trees.program, blobs: context.blobs, signal }
  try {
    await restoreTree({
      ...shared,
      manifest: Buffer.from(checkpoint.workspace_manifest),
      target: trees.workspace,
      skip: platformNames,
      limits: context.checkpointLimits.workspace,
      baselines: `${trees.baselines}/workspace`,
    })
    if (checkpoint.home_manifest === null) return
    await restoreTree({
      ...shared,
      manifest: Buffer.from(checkpoint.home_manifest),
      target: trees.home,
      limits: context.checkpointLimits.conversation,
      baselines: `${trees.baselines}/home`,
    })
  } catch (error) {
    if (!(error instanceof RestoreRefused) || !damages.has(error.code)) throw error
    await underFence(context, claim, tx => markDamaged(tx, claim, checkpoint.run_id, context.clock.now()))
    throw new ResumeUnavailable('the checkpoint is not what it says', { cause: error })
  }
}
