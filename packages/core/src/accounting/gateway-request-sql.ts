import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { GatewayUsage } from './upstream.ts'

/** The stored row of a request that reached a provider, or of the last one of a Run that was refused for a cause. */
export interface RequestRecord {
  readonly id: string
  readonly organizationId: string
  readonly credentialKind: string
  readonly apiKeyId: string | null
  readonly installationId: string | null
  readonly personId: string | null
  readonly endUserId: string | null
  readonly sessionId: string | null
  readonly runId: string | null
  readonly wire: string
  readonly provider: string
  readonly model: string
  readonly outcome: 'open' | 'completed' | 'failed' | 'left'
  readonly errorCode: string | null
  readonly usage: GatewayUsage | null
  readonly costUsd: number | null
  /** The most that a Run's request may cost: while it is open, every budget at which its Run waits for people holds it. */
  readonly reservedUsd: number | null
  /** The process that serves a Run's request; null for others. */
  readonly holder: string | null
  readonly firstTokenMs: number | null
  readonly durationMs: number | null
  readonly startedAt: Date
}

/**
 * Keeps the budgets of organizations as they are until the transaction ends: `shared` by whoever opens or settles requests,
 * `alone` by whoever adds a budget, who sums what was settled and holds what is open. The next statement has to follow in a
 * snapshot of its own, so that it sees what the wait was for. Its callers lock no row of a budget before.
 */
export async function holdBudgets(
  tx: Queryable,
  organizationIds: readonly string[],
  how: 'shared' | 'alone',
): Promise<void> {
  await tx.query({
    name: `hold-budgets-${how}`,
    text: `
      select pg_advisory_xact_lock${how === 'shared' ? '_shared' : ''}(hashtextextended('budgets/' || id, 0))
      from (select distinct unnest($1::text[]) as id order by 1) ids`,
    values: [organizationIds],
  })
}

const charging = `organization_id, api_key_id, session_id, person_id, installation_id, cost_usd, reserved_usd, reserved_in, outcome`

const ofRequest = (row: string) =>
  `budgets_of(${row}.organization_id, ${row}.api_key_id, ${row}.session_id, ${row}.person_id, ${row}.installation_id) b`

/**
 * Charges the requests of `kept` to their budgets at $2: those open are reserved, and the others' reservations end. Budgets that
 * this leaves as they are stay unlocked.
 */
const chargedTo = `spent as (
  select b.id,
    sum(case when k.outcome = 'open' then 0 else coalesce(k.cost_usd, k.reserved_usd * (b.id = any(k.reserved_in))::integer, 0) end) as usd,
    sum(k.reserved_usd * (b.id = any(k.reserved_in))::integer * case k.outcome when 'open' then -1 else 1 end) as freed
  from kept k cross join lateral ${ofRequest('k')}
  where k.cost_usd > 0 or (k.reserved_usd > 0 and b.id = any(k.reserved_in)) group by b.id
), locked as materialized (
  select b.id, s.usd, s.freed from gateway_budgets b join spent s on s.id = b.id order by b.id for no key update of b
)
update gateway_budgets b set
  spent_usd = l.usd
    + case when b.period_started_at < gateway_period_start(b.period, $2) then 0 else b.spent_usd end,
  reserved_usd = greatest(0, b.reserved_usd - coalesce(l.freed, 0)),
  period_started_at = greatest(b.period_started_at, gateway_period_start(b.period, $2))
from locked l where l.id = b.id`

/**
 * Stores requests and adds their cost to the budgets that they count against. A request is opened and settled once, so a
 * caller may repeat a write after a lost commit answer. A later refusal takes the place of one with the same id, and neither
 * has a cost. Ids in one call are distinct. An open request is reserved in the budgets at which its Run waits; that ends with
 * it, and a cost that is not known counts as what was reserved.
 * Each budget is one row, found by its unique index and updated once. Budgets are locked by id, so that calls and
 * changes of budgets never wait for each other in a circle.
 * @param tx a transaction
 * @param flushed whether to wait for the disk; if false, the rows are visible at once but a database crash may undo
 * them
 */
export async function keepRequests(
  tx: Queryable,
  records: readonly RequestRecord[],
  now: Date,
  { flushed }: { readonly flushed: boolean } = { flushed: true },
): Promise<void> {
  const held = holdBudgets(
    tx,
    records.map(({ organizationId }) => organizationId),
    'shared',
  )
  const kept = tx.query({
    name: 'keep-gateway-requests',
    text: `
      with kept as (
        insert into gateway_requests as g (
          id, organization_id, credential_kind, api_key_id, session_id, run_id, wire, provider, model, outcome, error_code,
          input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, first_token_ms, duration_ms,
          started_at, installation_id, person_id, end_user_id, reserved_usd, holder, reserved_in)
        select r.*, array(select b.id from ${ofRequest('r')} where r.outcome = 'open' and b.on_reached = 'pause')
        from jsonb_to_recordset($1::jsonb) as r (
          id uuid, organization_id uuid, credential_kind text, api_key_id uuid, session_id uuid, run_id uuid, wire text,
          provider text, model text, outcome text, error_code text, input_tokens bigint, cached_input_tokens bigint,
          cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_usd numeric, first_token_ms integer, duration_ms integer,
          started_at timestamptz, installation_id uuid, person_id uuid, end_user_id text, reserved_usd numeric, holder text)
        where case when $3 then true else set_config('synchronous_commit', 'off', true) is not null end
        on conflict (id) do update set
          provider = excluded.provider, model = excluded.model, outcome = excluded.outcome,
          error_code = excluded.error_code, input_tokens = excluded.input_tokens,
          cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens,
          output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens, cost_usd = excluded.cost_usd,
          first_token_ms = excluded.first_token_ms, duration_ms = excluded.duration_ms,
          wire = excluded.wire, started_at = excluded.started_at
          where excluded.outcome <> 'open'
            and (g.outcome = 'open' or (g.outcome = 'failed' and g.started_at < excluded.started_at)
              or (g.outcome = 'left' and g.cost_usd is null and g.reserved_in = '{}'))
        returning ${charging}
      ), ${chargedTo}`,
    values: [JSON.stringify(records.map(rowOf)), now, flushed],
  })
  await Promise.all([held, kept])
}

/** Ends the open requests that a condition selects. One that is being settled is left to that. */
const ending = (condition: string) => `
  with held as materialized (
    select id from gateway_requests g where organization_id = $1 and outcome = 'open' and ${condition} for update skip locked
  ), kept as (
    update gateway_requests set outcome = 'left' where id in (select id from held)
    returning ${charging}
  ), ${chargedTo}`

/**
 * Ends the requests of a Run that are still open when it ends: their gateway is gone, or nobody waits for them. Of such a
 * request the cost is not known, so it counts as what was reserved. Where nothing was, a late settlement still counts.
 */
export async function endReservations(
  tx: Queryable,
  run: SessionKey & { readonly runId: string },
  now: Date,
): Promise<void> {
  const held = holdBudgets(tx, [run.organizationId], 'shared')
  const ended = tx.query({
    name: 'end-reservations',
    text: ending('session_id = $3 and run_id = $4'),
    values: [run.organizationId, now, run.sessionId, run.runId],
  })
  await Promise.all([held, ended])
}

/** Selects the Runs of the requests `g` that have not ended. */
export const activeRunOf = `
  select from runs r
  where r.organization_id = g.organization_id and r.session_id = g.session_id and r.id = g.run_id and r.ended_at is null`

/**
 * Ends the requests of ended Runs that hold one of these budgets: they were opened while their Run ended. Only if a budget holds
 * more than the requests of active Runs do, which are found by the Runs, the others are looked for.
 */
export async function endOverdue(
  tx: Queryable,
  organizationId: string,
  budgetIds: readonly string[],
  now: Date,
): Promise<void> {
  const held = holdBudgets(tx, [organizationId], 'shared')
  const ended = tx.query({
    name: 'end-overdue',
    text: ending(`reserved_in && $3::uuid[] and not exists (${activeRunOf}) and (
      select coalesce(bool_or(b.reserved_usd > (
        select coalesce(sum(o.reserved_usd), 0) from runs r join gateway_requests o
          on o.organization_id = r.organization_id and o.session_id = r.session_id and o.run_id = r.id
        where r.organization_id = $1 and r.ended_at is null and o.outcome = 'open' and b.id = any(o.reserved_in))), false)
      from gateway_budgets b where b.organization_id = $1 and b.id = any($3))`),
    values: [organizationId, now, budgetIds],
  })
  await Promise.all([held, ended])
}

function rowOf(record: RequestRecord): Readonly<Record<string, unknown>> {
  return {
    id: record.id,
    organization_id: record.organizationId,
    credential_kind: record.credentialKind,
    api_key_id: record.apiKeyId,
    installation_id: record.installationId,
    person_id: record.personId,
    end_user_id: record.endUserId,
    session_id: record.sessionId,
    run_id: record.runId,
    wire: record.wire,
    provider: record.provider,
    model: record.model,
    outcome: record.outcome,
    error_code: record.errorCode,
    input_tokens: record.usage?.inputTokens ?? null,
    cached_input_tokens: record.usage?.cachedInputTokens ?? null,
    cache_write_tokens: record.usage?.cacheWriteTokens ?? null,
    output_tokens: record.usage?.outputTokens ?? null,
    reasoning_tokens: record.usage?.reasoningTokens ?? null,
    cost_usd: record.costUsd,
    reserved_usd: record.reservedUsd,
    holder: record.holder,
    first_token_ms: record.firstTokenMs,
    duration_ms: record.durationMs,
    started_at: record.startedAt,
  }
}
