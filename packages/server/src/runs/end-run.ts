import { appendEvents, type SessionKey } from '../events/append.ts'
import { usageOfRun } from '../gateway/accounting/usage-of-run.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { extendLease } from '../leases/extend-lease.ts'
import { knownSecrets } from '../secrets.ts'
import type { Queryable } from '../storage/database.ts'
import { keepFenceToSeal, releaseFence, releaseFenceOf } from './fence-sql.ts'
import { endOpenCalls } from './open-calls.ts'
import type { Outcome } from './run.ts'
import { finishRun } from './run-sql.ts'

/** Takes the Session's execution out of whose hands it is. The caller holds the Session's lock. */
export async function freeExecution(tx: Queryable, key: SessionKey): Promise<void> {
  await releaseFence(tx, key)
}

/**
 * Ends a Run: terminal status, its own fence freed and terminal event in the caller's transaction, under the Session's lock.
 * It is the only way to end one, so there is exactly one terminal event for each Run, whoever got here first.
 * With `seal` the worker that holds the fence, if there is one, keeps it, to seal what the Run left (completions, Ending).
 * What people were asked and have not answered is closed, ahead of the terminal event, and so are its tool calls.
 * @returns false where the Run had already ended; nothing was changed then.
 */
export async function endRun(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  outcome: Outcome,
  now: Date,
  options: { readonly seal?: boolean } = {},
): Promise<boolean> {
  const { summary, ...told } = outcome
  const clean = summary === undefined ? told : { ...told, summary: knownSecrets.cutText(summary) }
  const used = await usageOfRun(tx, { ...key, runId })
  // An agent that asked the gateway for nothing may have used what nobody counts.
  const counted = used.requests > 0 ? used : null
  const openCalls = await finishRun(tx, key, runId, clean, counted, now)
  if (openCalls === null) return false
  await Promise.all([
    options.seal === true ? keepFenceToSeal(tx, key, runId) : releaseFenceOf(tx, key, runId),
    extendLease(tx, key, now),
    closeInteractions(tx, key, outcome.status === 'cancelled' ? 'run_cancelled' : 'run_ended', now),
  ])
  const { status, stopReason, errorCode, turns } = outcome
  await appendEvents(
    tx,
    key,
    [
      ...endOpenCalls(runId, openCalls, false, now),
      {
        type: `svc.run.${status}`,
        runId,
        data: {
          status,
          ...(stopReason !== undefined && { stopReason }),
          ...(errorCode !== undefined && { errorCode }),
          ...(counted !== null && { costUsd: counted.costUsd, costComplete: counted.costComplete }),
          ...(turns !== undefined && { turns }),
        },
      },
    ],
    now,
  )
  return true
}
