import { randomUUID } from 'node:crypto'
import type { InteractionRequest } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { ApprovalRule } from '@berth/platform/settings/approval-rules.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { EventDraft } from '../log/envelope.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { markAwaiting } from '../runs/run-sql.ts'
import { isAllowed } from './approval-rules.ts'
import { type Ask, type InteractionRow, interactionEvent, likenessOf, unanswered } from './interaction.ts'
import { findRemembered, insertInteraction } from './interaction-sql.ts'

/** One request of an agent. */
export interface AgentRequest {
  /** Its offset in the lease's journal. */
  readonly offset: number
  readonly ask: Ask
  /** People cannot be asked: the request is over their bound, or holds nothing to decide. */
  readonly declined?: boolean
  /** The part of the request that the answer to the agent is made from; the domain does not read it. */
  readonly agentRequest: object
  /** The platform asks whether a program may reach this `host:port`. */
  readonly destination?: string
}

export interface Asking extends SessionKey {
  readonly runId: string
  readonly leaseId: string
  readonly now: Date
  readonly runtime: string
  /** The operator's rules. */
  readonly rules: readonly ApprovalRule[]
  /** Time that people have to decide an approval. */
  readonly approvalMs: number
  /** The Run is being cancelled, so nobody is asked any more. */
  readonly cancelled: boolean
}

/**
 * Opens an agent's request, in the transaction that commits the reading of it. A question or a plan suspends the Run.
 * An approval that a remembered decision or an operator's rule covers is answered without being opened. A request that
 * people cannot be asked ends as `cancelled`. Both are logged. The caller holds the Session's lock and appends the
 * Events.
 */
export async function openInteraction(tx: Queryable, asking: Asking, pending: AgentRequest): Promise<EventDraft[]> {
  const { now, runId, organizationId, sessionId } = asking
  const deadline = pending.ask.kind === 'approval' ? new Date(now.getTime() + asking.approvalMs) : null
  const requestId = pending.ask.kind === 'approval' ? randomUUID() : null
  const destination = pending.destination ?? null
  const redactor = await sessionRedactor(tx, asking)
  const request = redactor.value(shownRequest(pending.ask, runId, requestId, deadline)) as InteractionRequest
  const allowed =
    asking.cancelled || pending.declined === true ? null : await allowance(tx, asking, pending.ask, destination)
  const closing = asking.cancelled ? 'run_cancelled' : pending.declined === true ? 'cancelled' : allowed
  const row: InteractionRow = {
    organization_id: organizationId,
    session_id: sessionId,
    id: randomUUID(),
    run_id: runId,
    kind: pending.ask.kind,
    status: closing === null ? 'open' : allowed === null ? 'expired' : 'resolved',
    resolution: closing,
    request: JSON.stringify(request),
    lease_id: asking.leaseId,
    journal_offset: pending.offset,
    agent_request: JSON.stringify(pending.agentRequest),
    budget_id: null,
    destination,
    request_id: requestId,
    deadline,
    opened_at: now,
    ended_at: closing === null ? null : now,
    ...unanswered,
  }
  if (!(await insertInteraction(tx, row)) || asking.cancelled) return []
  if (row.status === 'open' && row.kind !== 'approval') await markAwaiting(tx, asking, runId, now)
  return [interactionEvent(row, request)]
}

/** Returns who has allowed an approval already. People's decisions come first, because they say more than a rule. */
export async function allowance(
  tx: Queryable,
  asking: Asking,
  ask: Ask,
  destination: string | null,
): Promise<'always_allowed' | 'turn_allowed' | 'project_allowed' | null> {
  if (ask.kind !== 'approval') return null
  const scope = await findRemembered(tx, asking, asking.runId, likenessOf(ask.approval, destination))
  if (scope !== null) return scope === 'chat' ? 'always_allowed' : 'turn_allowed'
  const { rules, organizationId, runtime } = asking
  return isAllowed(rules, { organizationId, runtime, approval: ask.approval }) ? 'project_allowed' : null
}

function shownRequest(ask: Ask, runId: string, requestId: string | null, deadline: Date | null): InteractionRequest {
  switch (ask.kind) {
    case 'ask_user':
      return { questions: ask.questions }
    case 'exit_plan_mode': {
      const { kind: _, ...plan } = ask
      return plan
    }
    case 'approval':
      return {
        approval: {
          requestId: requestId ?? '',
          runId,
          deadline: deadline?.getTime() ?? 0,
          rememberScopes: ['turn', 'chat'],
          ...ask.approval,
        },
      }
  }
}
