import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import { closeInteractions } from '@berth/core/sessions/interactions/close-interactions.ts'
import { markDelivered, settleEarlier } from '@berth/core/sessions/interactions/interaction-sql.ts'
import { openInteraction } from '@berth/core/sessions/interactions/open-interactions.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { backgroundAfter, planAfter, saveBackground, savePlan } from '@berth/core/sessions/log/agent-state-sql.ts'
import { appendBatch, type EventBatch, toBatch } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { resumeIfAnswered } from '@berth/core/sessions/runs/resume-run.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { holdSession, saveAgentTitle } from '@berth/core/sessions/session/session-sql.ts'
import { shortTitle } from '@berth/core/sessions/session/title.ts'
import { markSteered } from '@berth/core/sessions/turns/turn-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { nowMs, type RunOf, recordPast } from '@berth/platform/telemetry/observe.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { AgentFacts } from '../agent/agent-handshake.ts'
import { type Claim, ClaimLost, type RunClaim, type Task } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { holdsFence } from '../claim/hold-sql.ts'
import { type Spent, saveReading } from '../claim/progress-sql.ts'
import type { SupervisorConnection } from '../supervisor/connection.ts'
import { presentBeforeWaiting } from '../workspace/present-files.ts'

/** Text chunks may wait in the journal for this many bytes before an offset is committed without an event. */
const COMMIT_BYTES = 256 * 1024

/** Commits the readings of an attempt, then acknowledges them, then notifies readers of the log. */
export class ReadingKeeper {
  readonly #context: ExecutionContext
  readonly #claim: RunClaim
  readonly #leaseId: string
  readonly #connection: SupervisorConnection
  #offset: number
  #facts: AgentFacts

  constructor(
    context: ExecutionContext,
    claim: RunClaim,
    lease: LeaseRow,
    connection: SupervisorConnection,
    facts: AgentFacts,
  ) {
    this.#context = context
    this.#claim = claim
    this.#leaseId = lease.id
    this.#connection = connection
    this.#offset = lease.journal_offset
    this.#facts = facts
  }

  /**
   * Commits a reading if it has content or has grown long.
   *
   * @returns the Events it appended; null if the reading waits
   * @throws ClaimLost, RunIsOver
   */
  async keep(reading: Reading): Promise<Spent | null> {
    const { drafts, requests, withdrawn, settled, title, facts, offset, replayFrom } = reading
    const hasNews = [drafts, requests, withdrawn, settled].some(part => part.length > 0) || title !== null
    const isDue = hasNews || facts !== this.#facts
    if (!isDue && offset - this.#offset < COMMIT_BYTES) return null
    if (requests.some(({ ask, declined }) => ask.kind !== 'approval' && declined !== true)) {
      await presentBeforeWaiting(this.#context, this.#claim, this.#leaseId)
    }
    const spent = await recordReading(this.#context, this.#claim, this.#leaseId, reading)
    recordTools(this.#claim, drafts)
    this.#offset = offset
    this.#facts = facts
    this.#connection.ack(offset, replayFrom)
    if (drafts.length + requests.length + withdrawn.length > 0 || title !== null) {
      this.#context.wakeups.publish(topics.session(this.#claim.organizationId, this.#claim.sessionId))
    }
    return spent
  }
}

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
    const { drafts, requests, withdrawn, dropped, title } = reading
    // Without an append no statement takes the Session's lock before the Run's.
    const counted = drafts.length > 0 || (dropped === 0 && title === null)
    if (requests.length === 0 && withdrawn.length === 0 && counted) {
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
  const { prompted, settled, steered, drafts, title } = reading
  await Promise.all([
    saveReading(tx, claim, leaseId, reading, spent),
    prompted && claim.runId !== null ? settleEarlier(tx, claim, claim.runId, leaseId, now) : null,
    settled.length > 0 ? markDelivered(tx, leaseId, settled, now) : null,
    title === null ? null : saveTitle(tx, claim, title),
    spent.events > 0 ? saveState(tx, claim, leaseId, drafts) : null,
    steered.length > 0 && claim.runId !== null ? markSteered(tx, claim, claim.runId, steered) : null,
  ])
}

/** Stores the agent's title, if nobody has given another. It masks what the log masks. */
async function saveTitle(tx: Queryable, claim: Claim, title: string): Promise<void> {
  const short = shortTitle((await sessionRedactor(tx, claim)).text(title))
  if (short !== '') await saveAgentTitle(tx, claim, short)
}

/**
 * Stores the agent's state of Events that this transaction has begun to append, so it holds the Session's lock. It masks
 * what the log masks: a secret may have been remembered since the reading was masked.
 */
async function saveState(tx: Queryable, claim: Claim, leaseId: string, drafts: readonly EventDraft[]): Promise<void> {
  const [plan, background] = [planAfter(drafts), backgroundAfter(drafts)]
  if (plan === undefined && background === undefined) return
  const redactor = await sessionRedactor(tx, claim)
  const state = redactor.value({ plan, background }) as { plan?: typeof plan; background?: typeof background }
  if (state.background !== undefined) await saveBackground(tx, claim, { leaseId, ...state.background })
  if (state.plan !== undefined) await savePlan(tx, claim, state.plan)
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
  for (const { draftsBefore, ...request } of reading.requests) {
    drafts.push(...reading.drafts.slice(before, draftsBefore), ...(await openInteraction(tx, asking, request)))
    before = draftsBefore
  }
  drafts.push(...reading.drafts.slice(before))
  const batch = toBatch(tx, claim, drafts, now)
  if (drafts.length > 0) await appendBatch(tx, claim, batch)
  const kept = reading.requests.map(({ ask, agentRequest }) => JSON.stringify([ask, agentRequest]))
  const spent = {
    events: drafts.length + kept.length,
    bytes: kept.reduce((sum, text) => sum + Buffer.byteLength(text), batch.bytes),
  }
  if (reading.withdrawn.length === 0) return spent
  const closed = await closeInteractions(tx, claim, 'request_gone', now, {
    requests: { leaseId, offsets: reading.withdrawn },
  })
  if (closed > 0) await resumeIfAnswered(tx, claim, runId, now)
  return spent
}

/** Tells of the tool calls that a committed reading has ended, without their arguments and output. */
export function recordTools(of: RunOf, drafts: readonly EventDraft[]): void {
  for (const { type, data } of drafts) {
    if (type !== 'svc.activity.completed') continue
    const { name, kind, status, durationMs } = data as Record<string, unknown>
    const endedMs = nowMs()
    recordPast(of, 'tool call', {
      beganMs: endedMs - (typeof durationMs === 'number' ? durationMs : 0),
      endedMs,
      attributes: { 'gen_ai.tool.name': String(name), 'berth.tool.kind': String(kind) },
      error: status === 'failed' ? 'tool_failed' : null,
    })
  }
}
