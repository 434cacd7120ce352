import { insertCheckpoint } from '../../checkpoints/checkpoint-sql.ts'
import { endLease } from '../../sessions/leases/end-lease.ts'
import { findLiveLease } from '../../sessions/leases/lease-sql.ts'
import { appendEvents } from '../../sessions/log/append.ts'
import { releaseFence } from '../../sessions/runs/fence-sql.ts'
import { findRun } from '../../sessions/runs/run-sql.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import type { RunClaim } from '../claim/claim-sql.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'
import { collectPresented, keepPresented } from './present-files.ts'
import { sealLease } from './seal-run.ts'

/**
 * Parks a Run that awaits an answer: seals its sandbox and gives it back, so that a question may stay open for longer
 * than a lease lasts. The caller holds the Run's claim, has seen that the Run is `awaiting`, and no longer reads the
 * agent's journal. Called when the Run has awaited for `BERTH_PARK_SECONDS`, and at `workEndsAt(lease)`.
 *
 * States. The Run stays `awaiting`, is no terminal Run and has a checkpoint of its own; the Session's execution is free
 * (no task, no fence), the lease has ended as `expired`, which the log tells, and `phase` stays `awaiting`.
 * `continuation` says `restorable`, `sealedByRunId` the Run itself: `runToGoOnFrom` takes a Run that has not ended where
 * it has a checkpoint, and a parked Run is the newest. Nothing else moves it: sweepers pass over Sessions without a
 * lease, workers over Runs that are neither queued nor claimed. A cancellation or an archive ends it at once as any
 * awaiting Run; its checkpoint stays, and as a Run that was cancelled it is the one to go on from.
 *
 * Going on. Whoever takes the answer offers the Run to any worker in the same transaction (`runs/await-run.ts`), as one
 * whose claim has lapsed: it goes on in the same attempt. The worker makes a fresh sandbox, and `restoreSession` finds the
 * Run's own checkpoint first. The agent then loads its conversation, or is told it, and gets the answer as its prompt
 * (`answer-blocks.ts`). When the Run ends, its last seal takes the place of this one.
 *
 * Crash points. Up to the one commit the Run is what it was: another worker adopts the claim and parks anew. After it
 * there is nothing left to do but to destroy the sandbox, which is the sweeper's.
 *
 * @returns `unsealed` where it could not be sealed, or is over a cap, `awake` where it was answered or ended meanwhile:
 *   the Run keeps its sandbox and its claim
 * @throws ClaimLost where it was ended meanwhile, DatabaseUnavailable, BlobsUnavailable, or the signal's reason
 */
export async function parkRun(
  context: ExecutionContext,
  claim: RunClaim,
  signal: AbortSignal,
): Promise<'parked' | 'unsealed' | 'awake'> {
  const { clock, db, log } = context
  const lease = await findLiveLease(db, claim)
  if (lease === null) return 'awake'
  await using presented = await collectPresented(context, claim, lease.id)
  const sealed = await sealLease(context, claim, signal)
  const outcome = await underFence(context, claim, async tx => {
    const now = clock.now()
    const run = await findRun(tx, claim, claim.runId)
    if (run?.status !== 'awaiting') return 'awake'
    if (sealed?.checkpoint === undefined) return 'unsealed'
    await keepPresented(tx, claim, presented, now)
    await insertCheckpoint(tx, claim, { ...sealed.checkpoint, sealed_at: now })
    if (sealed.omissions.length > 0) await appendEvents(tx, claim, sealed.omissions, now)
    await releaseFence(tx, claim)
    await endLease(tx, claim, 'expired', now, { keepQuestions: true })
    return 'parked'
  })
  if (outcome === 'unsealed') log.warn({ runId: claim.runId }, 'an awaiting run could not be sealed')
  if (outcome !== 'parked') return outcome
  announce(context, claim)
  context.wakeups.publish(topics.leases)
  return 'parked'
}
