import { insertCheckpoint } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { endLease } from '@berth/core/sessions/leases/end-lease.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'
import { collectPresented, keepPresented } from './present-files.ts'
import { sealLease } from './seal-run.ts'

/**
 * Parks a Run that awaits an answer: seals its sandbox and ends its lease, so that a question may stay open for longer
 * than a lease lasts. The caller holds the Run's claim, has seen that the Run is `awaiting`, and no longer reads the
 * agent's journal. It calls this when the Run has awaited for `limits.parkMs`, and at `workEndsAt(lease)`.
 *
 * States: the Run stays `awaiting` and gets a checkpoint. The Session's execution is free (no task, no fence), the
 * lease has ended as `expired` in the log, and `phase` stays `awaiting`. `continuation` says `restorable` and
 * `sealedByRunId` names the Run, because `continuationRun` takes a Run that has not ended if it has a checkpoint.
 * Sweepers pass over Sessions without a lease, and workers over Runs that are neither queued nor claimed. A
 * cancellation or an archive ends a parked Run at once. Its checkpoint stays, and after a cancellation the next Turn
 * goes on from it.
 *
 * Going on: the transaction that takes the answer offers the Run to any worker, like one whose claim has lapsed
 * (`core/sessions/runs/await-run.ts`). It goes on in the same attempt. The worker makes a fresh sandbox, and
 * `restoreSession` finds the Run's own checkpoint first. The agent then loads its conversation or gets a recap, and
 * gets the answer as its prompt (`answer-blocks.ts`). The seal at the Run's end replaces this one.
 *
 * Crash points: until the one commit nothing has changed, and another worker adopts the claim and parks again. After it
 * only the sandbox is left, which the sweeper destroys.
 *
 * @returns `unsealed` if it could not be sealed or is over a cap, `awake` if it was answered or ended meanwhile; in
 * both cases the Run keeps its sandbox and its claim
 * @throws ClaimLost if the Run was ended meanwhile, DatabaseUnavailable, BlobsUnavailable, or the signal's reason
 */
export async function parkRun(
  context: ExecutionContext,
  claim: RunClaim,
  signal: AbortSignal,
): Promise<'parked' | 'unsealed' | 'awake'> {
  const { clock, db, limits, log } = context
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
    await insertCheckpoint(tx, claim, { ...sealed.checkpoint, sealed_at: now }, limits.sealsKept)
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
