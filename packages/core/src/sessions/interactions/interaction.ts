import type {
  Approval,
  DecisionChoice,
  DecisionOutcome,
  Interaction,
  InteractionKind,
  InteractionRequest,
  InteractionStatus,
  Resolution,
} from '@berth/contract'
import type { Principal } from '../../identity/guard/principal.ts'
import type { EventDraft } from '../log/envelope.ts'

/**
 * An Interaction as the database stores it. Its states:
 *
 *     open ── a decision, a reply Turn ──▶ resolved
 *     open ── deadline, withdrawal, end of Run, lease, Session or authority ──▶ expired
 *
 * Both ends are final. `delivered_at` is independent of them: it is null while the agent of a closed Interaction still
 * waits, and the worker that reads the lease's journal gives the agent the answer.
 */
export interface InteractionRow {
  readonly organization_id: string
  readonly session_id: string
  readonly id: string
  readonly run_id: string
  readonly kind: InteractionKind
  readonly status: InteractionStatus
  readonly resolution: Resolution | null
  readonly request: string
  readonly lease_id: string
  readonly journal_offset: number
  readonly agent_request: string
  /** The platform asks, about this budget; null: an agent asks. */
  readonly budget_id: string | null
  /** The platform asks whether a program may reach this `host:port`; null: an agent asks, or about a budget. */
  readonly destination: string | null
  readonly request_id: string | null
  readonly deadline: Date | null
  readonly opened_at: Date
  readonly ended_at: Date | null
  readonly choice: DecisionChoice | null
  readonly idempotency_key: string | null
  readonly decided_by_kind: Principal['kind'] | null
  readonly decided_by_id: string | null
  readonly response_turn_id: string | null
  readonly answer: string | null
  readonly delivered_at: Date | null
}

/** The columns of a request that nobody has answered. */
export const unanswered = {
  choice: null,
  idempotency_key: null,
  response_turn_id: null,
  answer: null,
  decided_by_kind: null,
  decided_by_id: null,
  delivered_at: null,
} as const

/** A request of an agent, cleaned and within bounds, before it has an id and a deadline. */
export type Ask =
  | { readonly kind: 'ask_user'; readonly questions: NonNullable<InteractionRequest['questions']> }
  | { readonly kind: 'exit_plan_mode'; readonly prompt: string; readonly plan: string; readonly planTruncated?: true }
  | { readonly kind: 'approval'; readonly approval: Omit<Approval, 'requestId' | 'runId' | 'deadline'> }

/** The properties that make two approvals alike: a remembered decision on one answers the other. */
export interface Likeness {
  readonly toolName: string
  readonly toolKind: string
  readonly confinement: string
  /** Set if the platform asks about a connection: a decision answers for this host and port alone. */
  readonly destination: string | null
}

export const likenessOf = (
  { toolName, kind, confinement }: Pick<Approval, 'toolName' | 'kind' | 'confinement'>,
  destination: string | null = null,
): Likeness => ({
  toolName,
  toolKind: kind ?? 'other',
  confinement: confinement ?? 'sandbox',
  destination,
})

export const requestOf = (row: Pick<InteractionRow, 'request'>): InteractionRequest => JSON.parse(row.request)

/** Returns the Interaction resource. */
export function toInteraction(row: InteractionRow): Interaction {
  const closedAt = row.ended_at?.toISOString()
  return {
    id: row.id,
    sessionId: row.session_id,
    runId: row.run_id,
    kind: row.kind,
    status: row.status,
    request: requestOf(row),
    ...(row.response_turn_id !== null && { response: { turnId: row.response_turn_id } }),
    ...(row.deadline !== null && { deadline: row.deadline.toISOString() }),
    ...(row.resolution !== null && { resolution: row.resolution }),
    openedAt: row.opened_at.toISOString(),
    ...(row.status === 'resolved' && closedAt !== undefined && { resolvedAt: closedAt }),
    ...(row.status === 'expired' && closedAt !== undefined && { expiredAt: closedAt }),
  }
}

/** Returns the outcome of a decision, or null if none was made. */
export function outcomeOf(row: InteractionRow): DecisionOutcome | null {
  if (row.choice === null) return null
  const { id, choice, status, resolution } = row
  return { interactionId: id, choice, status, resolution, ...decidedBy(row) }
}

const eventTypes = {
  open: 'svc.interaction.opened',
  resolved: 'svc.interaction.resolved',
  expired: 'svc.interaction.expired',
} as const

/** Returns who decided, if somebody did. Decisions of earlier releases have nobody. */
const decidedBy = ({ decided_by_kind: kind, decided_by_id: id }: Deciding): Pick<DecisionOutcome, 'decidedBy'> =>
  kind === null || id === null ? {} : { decidedBy: { kind, id } }

type Deciding = Pick<InteractionRow, 'decided_by_kind' | 'decided_by_id'>

/** Returns the Event that tells the Interaction's state. Only an opening includes the request. */
export function interactionEvent(
  row: Pick<InteractionRow, 'id' | 'run_id' | 'kind' | 'status' | 'resolution' | 'response_turn_id' | 'deadline'> &
    Partial<Deciding>,
  request?: InteractionRequest,
): EventDraft {
  return {
    type: eventTypes[row.status],
    runId: row.run_id,
    data: {
      interactionId: row.id,
      kind: row.kind,
      status: row.status,
      ...(request !== undefined && { request: withoutInput(request) }),
      ...(row.resolution !== null && { resolution: row.resolution }),
      ...decidedBy({ decided_by_kind: null, decided_by_id: null, ...row }),
      ...(row.response_turn_id !== null && { turnId: row.response_turn_id }),
      ...(row.deadline !== null && { deadline: row.deadline.toISOString() }),
    },
  }
}

/** Removes the tool's input: integrations read the log, and read the input from the Interaction itself. */
function withoutInput(request: InteractionRequest): InteractionRequest {
  if (request.approval === undefined) return request
  const { input: _, ...approval } = request.approval
  return { ...request, approval }
}
