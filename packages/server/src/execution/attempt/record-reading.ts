import { NATIVE_RUNTIME } from '../../runtimes/catalog.ts'
import { closeInteractions } from '../../sessions/interactions/close-interactions.ts'
import { markDelivered, settleEarlier } from '../../sessions/interactions/interaction-sql.ts'
import { openInteraction } from '../../sessions/interactions/open-interactions.ts'
import { resumeIfAnswered } from '../../sessions/interactions/resume-if-answered.ts'
import { appendBatch, type EventBatch, toBatch } from '../../sessions/log/append.ts'
import type { EventDraft } from '../../sessions/log/envelope.ts'
import { findRun } from '../../sessions/runs/run-sql.ts'
import { holdSession } from '../../sessions/session/session-sql.ts'
import { markSteered } from '../../sessions/turns/steering-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { Claim, RunClaim, Task } from '../claim/claim.ts'
import { ClaimLost } from '../claim/claim-lost.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { holdsFence } from '../claim/hold-sql.ts'
import { saveReading } from '../claim/progress-sql.ts'
import type { Spent } from '../claim/spent-events.ts'

/** Another command has ended the Run; its worker releases the agent and seals. */
export class RunIsOver extends Error {
  override readonly name = 'RunIsOver'
}

/**
 * Commits a reading of the journal behind the fence: Events, requests to people, facts about the agent, and the offset,
 * all or nothing.
 *
 * @returns the Events it appended
 * @throws ClaimLost, RunIsOver
 */
export function recordReading(
  context: ExecutionContext,
  claim: RunClaim,
  leaseId: string,
  reading: Reading,
): Promise<Spent> {
  return context.db.transaction(async tx => {
    const now = context.clock.now()
    const { drafts, asked, withdrawn, dropped } = reading
    // Without an append no statement takes the Session's lock before the Run's.
    const counted = drafts.length > 0 || dropped === 0
    if (asked.length === 0 && withdrawn.length === 0 && counted) {
      // The common case sends everything in one round trip, and rolls back if the claim does not stand. The append
      // takes the Session's lock first: every other transaction takes the two locks in this order.
      const batch = toBatch(tx, claim, drafts, now)
      const appended = drafts.length > 0 ? appendBatch(tx, claim, batch) : null
      const held = holdsFence(tx, claim)
      const spent = spentOn(batch)
      const [task] = await Promise.all([held, appended, recordPosition(tx, claim, leaseId, reading, spent, now)])
      mustRun(task)
      return spent
    }
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim)])
    mustRun(task)
    const spent = await recordAsking(tx, context, claim, leaseId, reading, now)
    await recordPosition(tx, claim, leaseId, reading, spent, now)
    return spent
  })
}

export const spentOn = ({ envelopes, bytes }: EventBatch): Spent => ({ events: envelopes.length, bytes })

function mustRun(task: Task | null): void {
  if (task === null) throw new ClaimLost()
  if (task !== 'run') throw new RunIsOver()
}

/** Stores the journal's offset and the interactions that the reading settles. */
export async function recordPosition(
  tx: Queryable,
  claim: Claim,
  leaseId: string,
  reading: Reading,
  spent: Spent,
  now: Date,
): Promise<void> {
  const { prompted, settled, steered } = reading
  await Promise.all([
    saveReading(tx, claim, leaseId, reading, spent),
    prompted && claim.runId !== null ? settleEarlier(tx, claim, claim.runId, leaseId, now) : null,
    settled.length > 0 ? markDelivered(tx, leaseId, settled, now) : null,
    steered.length > 0 && claim.runId !== null ? markSteered(tx, claim, claim.runId, steered) : null,
  ])
}

/**
 * Opens requests in their place among the Events, and closes withdrawn ones. Each request counts as one more event: its
 * row is stored beside the Event, and may be longer.
 */
async function recordAsking(
  tx: Queryable,
  context: ExecutionContext,
  claim: RunClaim,
  leaseId: string,
  reading: Reading,
  now: Date,
): Promise<Spent> {
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
  const batch = toBatch(tx, claim, drafts, now)
  if (drafts.length > 0) await appendBatch(tx, claim, batch)
  const kept = reading.asked.map(({ ask, agentRequest }) => JSON.stringify([ask, agentRequest]))
  const spent = {
    events: drafts.length + kept.length,
    bytes: kept.reduce((sum, text) => sum + Buffer.byteLength(text), batch.bytes),
  }
  if (reading.withdrawn.length === 0) return spent
  const closed = await closeInteractions(tx, claim, 'request_gone', now, {
    asked: { leaseId, offsets: reading.withdrawn },
  })
  if (closed > 0) await resumeIfAnswered(tx, claim, runId, now)
  return spent
}
