import type { DecisionChoice, Resolution } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import type { InteractionRow, Likeness } from './interaction.ts'

export async function findInteraction(db: Queryable, key: SessionKey, id: string): Promise<InteractionRow | null> {
  return await queryRow<InteractionRow>(db, {
    name: 'find-interaction',
    text: 'select * from interactions where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, id],
  })
}

/**
 * Lists the open Interactions, oldest first, on `interactions_open`. An agent's open requests are bounded, so the list
 * is.
 */
export async function listOpen(db: Queryable, key: SessionKey): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(db, {
    name: 'list-open-interactions',
    text: `
      select * from interactions where organization_id = $1 and session_id = $2 and status = 'open'
      order by opened_at, journal_offset`,
    values: [key.organizationId, key.sessionId],
  })
}

/**
 * Writes an Interaction, unless a worker has read the same request of the journal before.
 * @returns true if it is new
 */
export async function insertInteraction(tx: Queryable, row: InteractionRow): Promise<boolean> {
  return await queryAny(tx, {
    name: 'insert-interaction',
    text: `
      insert into interactions (organization_id, session_id, id, run_id, kind, status, resolution, request, lease_id,
        journal_offset, agent_request, request_id, deadline, opened_at, ended_at, budget_id, destination)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
      on conflict do nothing returning 1`,
    values: [
      row.organization_id,
      row.session_id,
      row.id,
      row.run_id,
      row.kind,
      row.status,
      row.resolution,
      row.request,
      row.lease_id,
      row.journal_offset,
      row.agent_request,
      row.request_id,
      row.deadline,
      row.opened_at,
      row.ended_at,
      row.budget_id,
      row.destination,
    ],
  })
}

/** Returns the open question of the platform about a Run's budget, on `interactions_open`; null if there is none. */
export async function findBudgetQuestion(
  db: Queryable,
  key: SessionKey,
  runId: string,
): Promise<InteractionRow | null> {
  return await queryRow<InteractionRow>(db, {
    name: 'find-budget-question',
    text: `
      select * from interactions
      where organization_id = $1 and session_id = $2 and status = 'open' and run_id = $3 and budget_id is not null`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** A Run that waits for more of a budget although nothing stands against its work. */
export interface NeedlessQuestion extends SessionKey {
  readonly runId: string
  readonly interactionId: string
  readonly openedAt: Date
}

/**
 * Returns the Runs that wait for more of a budget which would take a request again, or which is gone; those that wait
 * longest come first.
 * @param after the last one of the page before
 */
export async function listNeedlessBudgetQuestions(
  db: Queryable,
  organizationId: string | null,
  after: NeedlessQuestion | null,
  limit: number,
  now: Date,
): Promise<readonly NeedlessQuestion[]> {
  return await queryRows<NeedlessQuestion>(db, {
    name: 'list-needless-budget-questions',
    text: `
      select i.organization_id as "organizationId", i.session_id as "sessionId", i.run_id as "runId", i.id as "interactionId",
        i.opened_at as "openedAt"
      from interactions i left join gateway_budgets b
        on b.id = i.budget_id and b.organization_id = i.organization_id and b.on_reached = 'pause'
      where i.status = 'open' and i.budget_id is not null and ($1::uuid is null or i.organization_id = $1)
        and (b.id is null or b.reserved_usd < b.limit_usd
          - case when b.period_started_at < gateway_period_start(b.period, $2) then 0 else b.spent_usd end)
        and ($3::timestamptz is null or (i.opened_at, i.id) > ($3, $4))
      order by i.opened_at, i.id limit $5`,
    values: [organizationId, now, after?.openedAt ?? null, after?.interactionId ?? null, limit],
  })
}

/** Returns the newest question of the platform about a Run's budget on a lease, by its unique key. */
export async function findLastBudgetQuestion(
  db: Queryable,
  leaseId: string,
  runId: string,
): Promise<Pick<InteractionRow, 'status' | 'journal_offset'> | null> {
  return await queryRow<InteractionRow>(db, {
    name: 'find-last-budget-question',
    text: `
      select status, journal_offset from interactions
      where lease_id = $1 and journal_offset < 0 and run_id = $2 and budget_id is not null
      order by journal_offset limit 1`,
    values: [leaseId, runId],
  })
}

/** Returns an offset for a question that is in no journal. The caller holds the Session's lock. */
export async function nextOwnOffset(tx: Queryable, leaseId: string): Promise<number> {
  const { rows } = await tx.query<{ offset: number }>({
    text: `select least(min(journal_offset), 0) - 1 as offset from interactions where lease_id = $1`,
    values: [leaseId],
  })
  return Number(rows[0]?.offset ?? -1)
}

/** Selects some of a Session's open Interactions. */
export interface Which {
  readonly id?: string
  /** The lease whose journal holds the requests, and their offsets in it. */
  readonly requests?: { readonly leaseId: string; readonly offsets: readonly number[] }
}

/**
 * Closes open Interactions for lack of an answer, on `interactions_open`.
 * @returns the closed Interactions, oldest first
 */
export async function expireOpen(
  tx: Queryable,
  key: SessionKey,
  which: Which,
  resolution: Resolution,
  now: Date,
): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(tx, {
    name: 'expire-interactions',
    text: `
      with closed as (
        update interactions set status = 'expired', resolution = $3, ended_at = $4
        where organization_id = $1 and session_id = $2 and status = 'open' and ($5::text is null or id = $5)
          and ($6::uuid is null or (lease_id = $6 and journal_offset = any ($7::bigint[])))
        returning *
      )
      select * from closed order by opened_at, journal_offset`,
    values: [
      key.organizationId,
      key.sessionId,
      resolution,
      now,
      which.id ?? null,
      which.requests?.leaseId ?? null,
      which.requests?.offsets ?? [],
    ],
  })
}

/** The answer to an open Interaction: a decision or a Turn. */
export interface Answering {
  readonly resolution: Resolution | null
  readonly choice?: DecisionChoice
  readonly idempotencyKey?: string
  /** Who has made the decision. */
  readonly by?: Pick<Principal, 'kind' | 'id'>
  readonly turnId?: string
  readonly answer?: string
}

/** Resolves an open Interaction; the caller holds the Session's lock and has seen that it is open. */
export async function resolveOpen(
  tx: Queryable,
  key: SessionKey,
  id: string,
  answering: Answering,
  now: Date,
): Promise<InteractionRow> {
  const { rows } = await tx.query<InteractionRow>({
    name: 'resolve-interaction',
    text: `
      update interactions set status = 'resolved', resolution = $4, choice = $5, idempotency_key = $6,
        response_turn_id = $7, answer = $8, ended_at = $9, decided_by_kind = $10, decided_by_id = $11
      where organization_id = $1 and session_id = $2 and id = $3 and status = 'open' returning *`,
    values: [
      key.organizationId,
      key.sessionId,
      id,
      answering.resolution,
      answering.choice ?? null,
      answering.idempotencyKey ?? null,
      answering.turnId ?? null,
      answering.answer ?? null,
      now,
      answering.by?.kind ?? null,
      answering.by?.id ?? null,
    ],
  })
  const row = rows[0]
  if (row === undefined) throw new Error(`interaction ${id} is not open`)
  return row
}

/** Returns true if the Session's Run waits for people; approvals do not count, since they are decided while it runs. */
export async function hasOpenQuestion(tx: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(tx, {
    name: 'has-open-question',
    text: `
      select 1 from interactions
      where organization_id = $1 and session_id = $2 and status = 'open' and kind <> 'approval' limit 1`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns true if an approval is open, which the Run's agent must be present to hear. */
export async function hasOpenApproval(db: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(db, {
    name: 'has-open-approval',
    text: `
      select 1 from interactions
      where organization_id = $1 and session_id = $2 and status = 'open' and kind = 'approval' limit 1`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Lists the requests of a lease's agent that have no answer yet, in order, on `interactions_undelivered`. */
export async function listUndelivered(db: Queryable, leaseId: string): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(db, {
    name: 'list-undelivered-interactions',
    text: `
      select * from interactions where lease_id = $1 and delivered_at is null and journal_offset >= 0
      order by journal_offset`,
    values: [leaseId],
  })
}

/** Marks requests as delivered: the journal holds their answers, or the agent that asked is gone. */
export async function markDelivered(
  tx: Queryable,
  leaseId: string,
  offsets: readonly number[],
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'mark-interactions-delivered',
    text: `
      update interactions set delivered_at = $3
      where lease_id = $1 and journal_offset = any ($2::bigint[]) and delivered_at is null`,
    values: [leaseId, offsets, now],
  })
}

/** Lists people's answers to a Run whose earlier sandbox was given back while it waited, for its next agent process. */
export async function listUnheard(
  db: Queryable,
  key: SessionKey,
  runId: string,
  leaseId: string,
): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(db, {
    name: 'list-unheard-interactions',
    text: `
      select * from interactions
      where organization_id = $1 and session_id = $2 and run_id = $3 and lease_id <> $4 and delivered_at is null
        and kind <> 'approval'
        and (status = 'resolved' or resolution = 'cancelled' or (budget_id is not null and resolution = 'request_gone'))
      order by opened_at, journal_offset`,
    values: [key.organizationId, key.sessionId, runId, leaseId],
  })
}

/**
 * Lists people's feedback on plans they did not approve, asked after an offset of a lease's journal, by its unique key.
 */
export async function listFeedback(
  db: Queryable,
  leaseId: string,
  runId: string,
  after: number,
): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(db, {
    name: 'list-feedback',
    text: `
      select * from interactions
      where lease_id = $1 and run_id = $2 and journal_offset > $3 and kind = 'exit_plan_mode' and resolution = 'denied'
      order by journal_offset`,
    values: [leaseId, runId, after],
  })
}

/** Marks requests from a Run's earlier sandboxes as delivered: the agent was told, or the Run begins anew. */
export async function settleEarlier(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  leaseId: string | null,
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'settle-earlier-interactions',
    text: `
      update interactions set delivered_at = $5
      where organization_id = $1 and session_id = $2 and run_id = $3 and lease_id is distinct from $4
        and delivered_at is null and status <> 'open'`,
    values: [key.organizationId, key.sessionId, runId, leaseId, now],
  })
}

/** Lets a decision answer later requests like it: in one Run, or in the whole Session if `runId` is null. */
export async function remember(tx: Queryable, key: SessionKey, runId: string | null, like: Likeness): Promise<void> {
  await tx.query({
    text: `
      insert into remembered_decisions
        (organization_id, session_id, run_id, tool_name, tool_kind, confinement, destination)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    values: [
      key.organizationId,
      key.sessionId,
      runId,
      like.toolName,
      like.toolKind,
      like.confinement,
      like.destination,
    ],
  })
}

/** Returns the reach of a remembered decision that covers a request, or null if there is none. */
export async function findRemembered(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  like: Likeness,
): Promise<'chat' | 'turn' | null> {
  const { rows } = await tx.query<{ run_id: string | null }>({
    name: 'find-remembered-decision',
    text: `
      select run_id from remembered_decisions
      where organization_id = $1 and session_id = $2 and (run_id is null or run_id = $3)
        and tool_name = $4 and tool_kind = $5 and confinement = $6 and destination is not distinct from $7
      order by run_id nulls first limit 1`,
    values: [
      key.organizationId,
      key.sessionId,
      runId,
      like.toolName,
      like.toolKind,
      like.confinement,
      like.destination,
    ],
  })
  const row = rows[0]
  return row === undefined ? null : row.run_id === null ? 'chat' : 'turn'
}

/** An approval whose deadline has passed. */
export interface Overdue {
  readonly organization_id: string
  readonly session_id: string
  readonly id: string
}

/** Lists approvals past their deadline, on `interactions_due`. */
export async function findOverdue(db: Queryable, now: Date, limit: number): Promise<Overdue[]> {
  return await queryRows<Overdue>(db, {
    name: 'find-overdue-interactions',
    text: `
      select organization_id, session_id, id from interactions
      where status = 'open' and deadline <= $1 order by deadline limit $2`,
    values: [now, limit],
  })
}
