import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import { type LeaseRow, touchLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { markRunning } from '@berth/core/sessions/runs/run-sql.ts'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { PromptOf } from '../agent/acp-orders.ts'
import { agentRequestOf } from '../agent/acp-questions.ts'
import { AgentConversation } from '../agent/agent-conversation.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { inOneFlight } from '../claim/under-fence.ts'
import { discardPresented } from '../workspace/present-files.ts'
import type { RunAttemptParts } from './run-attempt.ts'

/** Returns the conversation with a lease's agent as the rows have it, from which reading the journal goes on. */
export function openConversation(
  of: PromptOf,
  { isTitleDerived, lease, redactor, runtime, steering, reported, waiting }: RunAttemptParts,
  options: { readonly endsMessages: boolean; readonly asksPeople: () => boolean },
): AgentConversation {
  const facts = {
    generation: lease.agent_generation,
    state: lease.agent_state,
    loadsSessions: lease.agent_loads_sessions,
    mcp: lease.agent_mcp,
    sessionId: lease.agent_session_id,
    activePrompt: lease.active_prompt,
  }
  const unanswered = new Map(waiting.map(row => [row.journal_offset, agentRequestOf(row).id]))
  return new AgentConversation(of, facts, lease.journal_offset, unanswered, redactor, {
    isOwn: runtime.id === NATIVE_RUNTIME,
    repeatsLate: runtime.repeatsLate === true,
    servers: lease.apply?.servers ?? [],
    ...options,
    steering: steering.map(({ id }) => id),
    reported,
    takesTitle: isTitleDerived,
  })
}

/**
 * Starts the Run on its sandbox before its prompt: sets `running` and appends one `started` event for each attempt.
 *
 * @throws ClaimLost
 */
export async function beginRun(
  context: ExecutionContext,
  claim: RunClaim,
  { id: leaseId, release_sha: releaseSha, tree }: LeaseRow,
): Promise<void> {
  const { id, attempts } = claim.run
  const data = {
    ...{ status: 'running', attempt: attempts },
    ...(releaseSha !== null && { releaseSha }),
    ...(tree !== null && { keptCheckout: true }),
  }
  // Waits for both even if one fails: a late discard after a retry could delete the agent's new files.
  await allSettled([
    discardPresented(context, claim, leaseId),
    inOneFlight(context, claim, (tx, now) => [
      markRunning(tx, claim, id, now),
      touchLease(tx, claim, now),
      appendEvents(tx, claim, [{ type: 'svc.run.started', runId: id, data }], now),
    ]),
  ])
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
}
