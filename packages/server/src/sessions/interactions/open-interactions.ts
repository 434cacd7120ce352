import { randomUUID } from 'node:crypto'
import type { InteractionRequest } from '@berth/contract'
import type { SessionKey } from '../../kit/session-key.ts'
import type { ApprovalRule } from '../../settings/approval-rules.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { EventDraft } from '../log/envelope.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { awaitPeople } from '../runs/await-run.ts'
import { isAllowed } from './approval-rules.ts'
import { type Ask, type InteractionRow, interactionEvent, likenessOf } from './interaction.ts'
import { findRemembered, insertInteraction } from './interaction-sql.ts'

/** One request of an agent. */
export interface Asked {
  /** Where it stands in the lease's journal. */
  readonly offset: number
  readonly ask: Ask
  /** People cannot be asked: it is more than they may be, or nothing that could be decided. */
  readonly declined?: boolean
  /** What the agent's answer is made of; none of the domain's business. */
  readonly agentRequest: object
}

export interface Asking extends SessionKey {
  readonly runId: string
  readonly leaseId: string
  readonly now: Date
  readonly runtime: string
  /** What the operator allows. */
  readonly rules: readonly ApprovalRule[]
  /** An approval is decided within this long, or not. */
  readonly approvalMs: number
  /** The Run is to be cancelled: nobody is asked any more. */
  readonly cancelled: boolean
}

/**
 * Opens what an agent asks, in the transaction that commits the reading of it. A question or a plan suspends the Run. An
 * approval that a remembered decision covers, or a rule of the operator's, is answered without being opened, and what
 * nobody can be asked ends as `cancelled`; both are in the log. The caller holds the Session's lock and appends the Events.
 */
export async function openInteraction(tx: Queryable, asking: Asking, asked: Asked): Promise<EventDraft[]> {
  const { now, runId, organizationId, sessionId } = asking
  const deadline = asked.ask.kind === 'approval' ? new Date(now.getTime() + asking.approvalMs) : null
  const requestId = asked.ask.kind === 'approval' ? randomUUID() : null
  const redactor = await sessionRedactor(tx, asking)
  const request = redactor.value(shownRequest(asked.ask, runId, requestId, deadline)) as InteractionRequest
  const allowed = asking.cancelled || asked.declined === true ? null : await allowance(tx, asking, asked.ask)
  const closing = asking.cancelled ? 'run_cancelled' : asked.declined === true ? 'cancelled' : allowed
  const row: InteractionRow = {
    organization_id: organizationId,
    session_id: sessionId,
    id: randomUUID(),
    run_id: runId,
    kind: asked.ask.kind,
    status: closing === null ? 'open' : allowed === null ? 'expired' : 'resolved',
    resolution: closing,
    request: JSON.stringify(request),
    lease_id: asking.leaseId,
    journal_offset: asked.offset,
    agent_request: JSON.stringify(asked.agentRequest),
    request_id: requestId,
    deadline,
    opened_at: now,
    closed_at: closing === null ? null : now,
    choice: null,
    idempotency_key: null,
    response_turn_id: null,
    answer: null,
    delivered_at: null,
  }
  if (!(await insertInteraction(tx, row)) || asking.cancelled) return []
  if (row.status === 'open' && row.kind !== 'approval') await awaitPeople(tx, asking, runId, now)
  return [interactionEvent(row, request)]
}

/** By whom an approval is allowed already: people come first, because they say more. */
async function allowance(
  tx: Queryable,
  asking: Asking,
  ask: Ask,
): Promise<'always_allowed' | 'turn_allowed' | 'project_allowed' | null> {
  if (ask.kind !== 'approval') return null
  const scope = await findRemembered(tx, asking, asking.runId, likenessOf(ask.approval))
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
          ...ask.approval,
          rememberScopes: ['turn', 'chat'],
        },
      }
  }
}
