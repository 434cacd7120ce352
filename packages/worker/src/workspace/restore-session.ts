import { randomUUID } from 'node:crypto'
import { type CheckpointRow, findResumable, markDamaged } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { type RestoreRefusal, RestoreRefused } from '@berth/core/checkpoints/errors.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { restoreTree } from '@berth/core/checkpoints/restore-tree.ts'
import { markBrought } from '@berth/core/sessions/leases/brought-sql.ts'
import { markTree } from '@berth/core/sessions/leases/lease-image-sql.ts'
import { startAgentFrom } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { readRecap } from '@berth/core/sessions/runs/recap.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { LowerTrees } from '@berth/sandboxes/driver.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { type Claim, ClaimLost } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { reportIfLong } from './report-if-long.ts'

/** The Session has earlier work that cannot be restored; continuing without it would be false. */
export class ResumeUnavailable extends Error {
  override readonly name = 'ResumeUnavailable'
}

/**
 * Restores a fresh sandbox, in which nothing runs yet, to the state of the Session's last sealed Run. A Session without
 * earlier work starts empty.
 *
 * @param shown trees that the sandbox was made with, as `findCheckpoint` has returned them
 * @returns true if there was earlier work
 * @throws ResumeUnavailable if the checkpoint is missing or damaged; a damaged one is never offered again
 * @throws RestoreRefused if this host or the store failed; the checkpoint stays usable
 */
export async function restoreSession(
  context: ExecutionContext,
  claim: Claim,
  leaseId: string,
  shown: LowerTrees | null,
  signal: AbortSignal,
): Promise<boolean> {
  const { db, clock } = context
  const checkpoint = await findResumable(db, claim)
  if (checkpoint === null && !(await hasEarlierWork(db, claim, claim.runId))) return false
  if (checkpoint === null) throw new ResumeUnavailable('no checkpoint to go on from')
  const begunMs = performance.now()
  await reportIfLong(context, claim, 'restore', () => writeTrees(context, claim, checkpoint, leaseId, shown, signal))
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

/**
 * Returns the trees of the checkpoint that a lease's sandbox shows below its own files, written on this host now if it
 * lacks them. Trees that their baselines do not name have to be restored into the sandbox.
 *
 * @param base the checkout that the Session started from; null: it has no repository
 * @returns null if all of it has to be restored into the sandbox, also because it is damaged
 * @throws ClaimLost, DatabaseUnavailable, or the signal's reason
 */
export async function findCheckpoint(
  context: ExecutionContext,
  claim: Claim,
  leaseId: string,
  base: string | null,
  signal: AbortSignal,
): Promise<LowerTrees | null> {
  const { checkpointLimits: limits, checkpoints, db, driver, log } = context
  const owner = driver.lowerOwner()
  const checkpoint = owner === null ? null : await findResumable(db, claim)
  if (owner === null || checkpoint === null) return null
  const { workspace_manifest: workspaceManifest, home_manifest: homeManifest } = checkpoint
  const { organizationId } = claim
  // Before the sandbox exists, so that nobody removes the tree meanwhile.
  const hold = (name: string | null) => underFence(context, claim, tx => markTree(tx, leaseId, name))
  try {
    const order = { organizationId, workspaceManifest, homeManifest, limits, base, hold }
    return await reportIfLong(context, claim, 'restore', () => checkpoints.provide(order, owner, signal))
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    log.warn({ err: error, leaseId }, 'a checkpoint is restored into a sandbox, without a kept tree')
    await hold(null)
    return null
  }
}

/** Refusals because of a damaged checkpoint; the others come from this host or an unavailable store. */
const damages: ReadonlySet<RestoreRefusal> = new Set(['missing', 'corrupt', 'malformed', 'over_limit'])

async function writeTrees(
  context: ExecutionContext,
  claim: Claim,
  checkpoint: CheckpointRow,
  leaseId: string,
  shown: LowerTrees | null,
  signal: AbortSignal,
): Promise<void> {
  const { blobs, checkpointLimits, driver } = context
  const shared = { blobs, signal }
  try {
    if (shown?.baselines.workspace === undefined) {
      await restoreTree({
        ...shared,
        manifest: Buffer.from(checkpoint.workspace_manifest),
        tree: treeOf(driver, leaseId, 'workspace'),
        skip: platformNames,
        limits: checkpointLimits.workspace,
      })
    }
    if (checkpoint.home_manifest === null || shown?.baselines.home !== undefined) return
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
