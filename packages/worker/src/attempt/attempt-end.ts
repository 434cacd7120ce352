import { lastRefusalOf } from '@berth/core/accounting/last-refusal.ts'
import { usageOfRun } from '@berth/core/accounting/usage-of-run.ts'
import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import { keepArtifact, type NewArtifact, omitted } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import { closeInteractions } from '@berth/core/sessions/interactions/close-interactions.ts'
import { appendBatch, appendEvents, toBatch } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { EVENT_BUDGET, type Outcome } from '@berth/core/sessions/runs/run.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { AgentEnd } from '../agent/agent-handshake.ts'
import { MAX_SUMMARY_BYTES } from '../agent/prompt-outcome.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce, deadlineExceeded, settleLoss } from '../claim/finish.ts'
import { taskOf } from '../claim/hold-sql.ts'
import { underFence } from '../claim/under-fence.ts'
import { collectPresented, keepPresented } from '../workspace/present-files.ts'
import { recordPosition, recordTools, spentOn } from './reading-keeper.ts'

/** The agent's Events exceeded the budget of one Run. */
export const outOfEvents: Outcome = { status: 'failed', stopReason: 'max_response', errorCode: EVENT_BUDGET }
/** The agent never came to take a prompt. */
export const startFailed: Outcome = { status: 'failed', stopReason: 'error', errorCode: 'runtime_start_failed' }
export const cancelled: Outcome = { status: 'cancelled', stopReason: 'aborted' }

/** A Run's outcome, and the length of a last message that is too long to be its summary. */
export interface Decided {
  readonly outcome: Outcome
  readonly longBytes?: number
}

/**
 * Returns the Run's outcome for the way its agent ended. After a stop was requested, any answer counts as `cancelled`.
 *
 * @returns null if the agent is gone without an answer, which loses the attempt
 */
export async function decideEnd(
  context: ExecutionContext,
  claim: RunClaim,
  end: AgentEnd | null,
  { cancelling, budgets }: { readonly cancelling: boolean; readonly budgets: RunBudgets },
  answer: { readonly at: Date | null; readonly last: () => Promise<LastAnswer | null> },
): Promise<Decided | null> {
  if (end?.kind === 'answered') {
    if (cancelling) return { outcome: cancelled }
    const outcome = await stoppedByCost(context, claim, end.outcome, budgets)
    return withSummary(await failIfRefused(context, claim, outcome, answer.at), await answer.last())
  }
  if (end?.kind === 'unstartable') {
    const redactor = await sessionRedactor(context.db, claim)
    const detail = knownSecrets.text(redactor.text(end.detail)).slice(0, 500)
    context.log.warn({ runId: claim.runId, detail }, 'a runtime did not start')
    return { outcome: end.resuming ? { ...startFailed, errorCode: 'resume_unavailable' } : startFailed }
  }
  if (end?.kind === 'exited' && end.signal === 'JOURNAL_FULL') {
    return { outcome: { status: 'failed', stopReason: 'error', errorCode: 'agent_output_limit' } }
  }
  return null
}

/**
 * Returns the outcome, with `cost_budget` as its reason if the Run has spent its cost budget. The gateway refuses such
 * a Run's calls, and agents react in ways of their own. So the booked cost decides, unless the agent gave another
 * reason.
 */
async function stoppedByCost(
  context: ExecutionContext,
  claim: RunClaim,
  outcome: Outcome,
  { costUsd }: RunBudgets,
): Promise<Outcome> {
  const silent = outcome.stopReason === 'completed' || outcome.stopReason === 'error'
  if (costUsd === undefined || !silent) return outcome
  const used = await usageOfRun(context.db, claim)
  if (used.costUsd < costUsd) return outcome
  const { errorCode: _, ...rest } = outcome
  return { ...rest, status: 'completed', stopReason: 'cost_budget' }
}

/** Uses the agent's own summary, else its last message. */
function withSummary(outcome: Outcome, lastAnswer: LastAnswer | null): Decided {
  const { summary = lastAnswer, ...rest } = outcome
  if (summary === null || summary === '') return { outcome: rest }
  if (typeof summary === 'string') return { outcome: { ...rest, summary } }
  return { outcome: rest, longBytes: summary.sizeBytes }
}

/**
 * Records the end of an attempt and everything read before it, in one transaction. The Run's result and presented files
 * come first, then its end. If the Run has already ended, only its agent's state is kept.
 *
 * @param end `lost`: the Run's outcome if nothing was decided and it may not begin again
 * @throws ClaimLost
 */
export async function recordEnd(
  context: ExecutionContext,
  claim: RunClaim,
  end: { leaseId: string; reading: Reading; decided: Decided | null; lost: Outcome; begun: boolean },
): Promise<void> {
  const { leaseId, reading, decided, lost, begun } = end
  const now = context.clock.now()
  const keeping = keepResult(context.blobs, decided?.outcome.summary, decided?.longBytes)
  keeping.catch(() => undefined)
  // If the Run is already over, presented files stay for the next Run.
  const isOver = (await taskOf(context.db, claim)) === 'seal'
  await using presented = isOver ? null : await collectPresented(context, claim, leaseId)
  const result = await keeping
  await underFence(context, claim, async (tx, task) => {
    const open = task === 'run'
    // Nothing here awaits the reading: the order in which statements are sent is the order of the log.
    const drafts = open ? reading.drafts : stateOf(reading.drafts)
    const batch = toBatch(tx, claim, drafts, now)
    const read = [
      batch.envelopes.length > 0 ? appendBatch(tx, claim, batch) : null,
      recordPosition(tx, claim, leaseId, { ...reading, drafts }, spentOn(batch), now),
    ]
    const keep = () => keepPresented(tx, claim, presented, now)
    const settle = async () => {
      if (decided !== null) return endWithResult(tx, claim, decided.outcome, { result, keep, begun, now })
      await closeInteractions(tx, claim, 'request_gone', now)
      await settleLoss(tx, context, claim, { sandboxLost: false, outcome: lost, keep })
    }
    await Promise.all([...read, open ? settle() : null])
    if (open) tx.afterCommit?.(() => recordTools(claim, reading.drafts))
  })
  announce(context, claim)
  await presented?.settle()
}

/** Returns the Event that still tells something once the Run is over: which commands its agent has left running. */
export function stateOf(drafts: readonly EventDraft[]): EventDraft[] {
  const last = drafts.findLast(({ type }) => type === 'svc.background.updated')
  if (last === undefined) return []
  const { runId: _, ...draft } = last
  return [draft]
}

interface Leaving {
  readonly result: Result
  readonly keep: () => Promise<void>
  readonly begun: boolean
  readonly now: Date
}

/**
 * Ends the Run. A Run that began on the sandbox is sealed afterwards, unless it crashed for any reason but its
 * deadline.
 */
async function endWithResult(
  tx: Queryable,
  claim: RunClaim,
  outcome: Outcome,
  { result, keep, begun, now }: Leaving,
): Promise<void> {
  const { runId } = claim
  const drafts = await keepResultRow(tx, claim, result, now)
  const appended = drafts.length > 0 ? appendEvents(tx, claim, drafts, now) : null
  await keep()
  // The deadline costs the sandbox, and with it the agent that waits for people.
  if (outcome === deadlineExceeded) await closeInteractions(tx, claim, 'workspace_lost', now)
  const { summary, ...rest } = outcome
  const reported = result.kind === 'kept' && summary !== undefined ? { ...rest, summary } : rest
  const seal = begun && (outcome.status !== 'crashed' || outcome === deadlineExceeded)
  await Promise.all([appended, endRun(tx, claim, runId, reported, now, { seal })])
}

async function keepResultRow(tx: Queryable, claim: RunClaim, result: Result, now: Date): Promise<EventDraft[]> {
  const { runId } = claim
  if (result.kind === 'too_large') return [omitted(runId, result.omission)]
  if (result.kind === 'none') return []
  const { draft } = await keepArtifact(tx, claim, { runId, ...result.artifact }, now)
  return [draft]
}

/** How a Run's summary is stored as an Artifact. */
export type Result =
  | { readonly kind: 'none' }
  | { readonly kind: 'kept'; readonly artifact: Omit<NewArtifact, 'runId'> }
  | {
      readonly kind: 'too_large'
      readonly omission: { kind: 'run_result'; name: string; sizeBytes: number; reason: string }
    }

const SUMMARY_NAME = 'summary.md'

/**
 * Puts a Run's summary into the blob store before the transaction that ends the Run. A summary over its cap is left out
 * whole. The housekeeper later sweeps bytes that no row names.
 *
 * @param longBytes length of a last message that is too long to be at hand
 */
export async function keepResult(blobs: Blobs, summary: string | undefined, longBytes?: number): Promise<Result> {
  if (longBytes !== undefined) return tooLarge(longBytes)
  if (summary === undefined) return { kind: 'none' }
  const content = Buffer.from(summary, 'utf8')
  if (content.length > MAX_SUMMARY_BYTES) return tooLarge(content.length)
  const { sha256, sizeBytes } = await blobs.put(content)
  return {
    kind: 'kept',
    artifact: { kind: 'run_result', name: SUMMARY_NAME, mediaType: 'text/markdown', sizeBytes, sha256 },
  }
}

/** A worker that took over reads the last message from the log, whose events hold less than a summary may. */
function tooLarge(sizeBytes: number): Result {
  const over = sizeBytes > MAX_SUMMARY_BYTES
  const reason = over ? `over the cap of ${MAX_SUMMARY_BYTES} bytes` : 'longer than the part that the log holds'
  return { kind: 'too_large', omission: { kind: 'run_result', name: SUMMARY_NAME, sizeBytes, reason } }
}

/** A Run's `errorCode` for a code of the gateway; any other refusal is about the request itself. */
const errorCodes: Readonly<Record<string, string>> = {
  context_length_exceeded: 'model_context_exceeded',
  insufficient_quota: 'model_rate_limited',
  internal_error: 'model_unavailable',
  rate_limit_exceeded: 'model_rate_limited',
  service_unavailable: 'model_unavailable',
  upstream_credential_refused: 'model_credential_refused',
  upstream_cut: 'model_unavailable',
  upstream_failed: 'model_unavailable',
  upstream_invalid_response: 'model_response_invalid',
  upstream_overloaded: 'model_unavailable',
  upstream_rate_limited: 'model_rate_limited',
  upstream_timeout: 'model_unavailable',
  upstream_unreachable: 'model_unavailable',
}

/**
 * Returns the outcome, `failed` if the gateway refused the last model request of a Run that its agent calls completed.
 * Agents of others end a prompt as usual then, with the gateway's words as their answer. A request that came after the
 * answer, for a title or a summary, changes nothing about it. The native agent judges by itself, and a script by its exit
 * code.
 * @param answeredAt when the agent's answer was over; null if its last act was no answer
 */
export async function failIfRefused(
  context: ExecutionContext,
  claim: RunClaim,
  outcome: Outcome,
  answeredAt: Date | null,
): Promise<Outcome> {
  if (outcome.status !== 'completed' || outcome.stopReason !== 'completed') return outcome
  const runtime = claim.run.runtime ?? NATIVE_RUNTIME
  if (runtime === NATIVE_RUNTIME || context.runtimes.find(runtime)?.stateless === true) return outcome
  const refused = await lastRefusalOf(context.db, claim, answeredAt)
  if (refused === null) return outcome
  return {
    ...outcome,
    status: 'failed',
    stopReason: 'error',
    errorCode: errorCodes[refused] ?? 'model_request_refused',
  }
}
