import { appendEvents } from '../events/append.ts'
import type { EventDraft } from '../events/envelope.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { markDelivered, settleEarlier } from '../interactions/interaction-sql.ts'
import { letRunGoOn } from '../interactions/let-run-go-on.ts'
import { openInteraction } from '../interactions/open-interactions.ts'
import { findRun } from '../runs/run-sql.ts'
import { NATIVE_RUNTIME } from '../runtimes/catalog.ts'
import { holdSession } from '../sessions/session-sql.ts'
import type { Queryable } from '../storage/database.ts'
import type { Reading } from './conversation.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type Claim, holdsFence, type RunClaim, saveReading, type Task } from './execution-sql.ts'
import { ClaimLost } from './interruption.ts'

/** The Run has ended by somebody else's command; its worker lets go of the agent and seals. */
export class RunIsOver extends Error {
  override readonly name = 'RunIsOver'
}

/**
 * Commits a reading of the journal behind the fence: Events, what people are asked, what is known of the agent and the
 * offset, all or nothing.
 * @throws ClaimLost, RunIsOver
 */
export function recordReading(
  context: ExecutionContext,
  claim: RunClaim,
  leaseId: string,
  reading: Reading,
): Promise<void> {
  return context.db.transaction(async tx => {
    const now = context.clock.now()
    const { drafts, asked, withdrawn } = reading
    if (asked.length === 0 && withdrawn.length === 0) {
      // What an agent does at every step goes in one flight, and is taken back where the claim does not stand. The
      // Session's lock comes first, by the append: every other transaction takes the two in this order.
      const appended = drafts.length > 0 ? appendEvents(tx, claim, drafts, now) : null
      const held = holdsFence(tx, claim, now)
      const [task] = await Promise.all([held, appended, recordPosition(tx, claim, leaseId, reading, now)])
      mustRun(task)
      return
    }
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim, now)])
    mustRun(task)
    await recordAsking(tx, context, claim, leaseId, reading, now)
    await recordPosition(tx, claim, leaseId, reading, now)
  })
}

function mustRun(task: Task | null): void {
  if (task === null) throw new ClaimLost()
  if (task !== 'run') throw new RunIsOver()
}

/** How far the journal is read, and what of people's business it settles. */
export async function recordPosition(
  tx: Queryable,
  claim: Claim,
  leaseId: string,
  reading: Reading,
  now: Date,
): Promise<void> {
  const { prompted, settled } = reading
  await Promise.all([
    saveReading(tx, claim, leaseId, reading),
    prompted && claim.runId !== null ? settleEarlier(tx, claim, claim.runId, leaseId, now) : null,
    settled.length > 0 ? markDelivered(tx, leaseId, settled, now) : null,
  ])
}

/** Opens what is asked, between the Events that come before and after it, and closes what was taken back. */
async function recordAsking(
  tx: Queryable,
  context: ExecutionContext,
  claim: RunClaim,
  leaseId: string,
  reading: Reading,
  now: Date,
): Promise<void> {
  const { organizationId, sessionId, runId } = claim
  const run = await findRun(tx, claim, runId)
  const asking = {
    organizationId,
    sessionId,
    runId,
    leaseId,
    now,
    runtime: run?.runtime ?? NATIVE_RUNTIME,
    rules: context.approvalRules,
    approvalMs: context.limits.approvalMs,
    cancelled: run === null || run.cancel_requested_at !== null,
  }
  const drafts: EventDraft[] = []
  let before = 0
  for (const { draftsBefore, ...asked } of reading.asked) {
    drafts.push(...reading.drafts.slice(before, draftsBefore), ...(await openInteraction(tx, asking, asked)))
    before = draftsBefore
  }
  drafts.push(...reading.drafts.slice(before))
  if (drafts.length > 0) await appendEvents(tx, claim, drafts, now)
  if (reading.withdrawn.length === 0) return
  const closed = await closeInteractions(tx, claim, 'request_gone', now, {
    asked: { leaseId, offsets: reading.withdrawn },
  })
  if (closed > 0) await letRunGoOn(tx, claim, runId, now)
}
