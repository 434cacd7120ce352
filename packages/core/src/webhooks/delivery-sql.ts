import type { WebhookError } from '@berth/contract'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Database, type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'
import { receives } from './authority-sql.ts'
import type { Attempt, Settled } from './delivery.ts'

/** A delivery as its row holds it. */
export interface DeliveryRow {
  readonly id: string
  readonly endpoint_id: string
  readonly position: number
  readonly tries: number
  readonly lapses: number
}

/** Everything that an attempt needs, as of the claim. */
export interface ClaimedDelivery extends DeliveryRow {
  readonly claim: string
  /** True if this claim follows one whose process died. */
  readonly lapsed: boolean
  readonly url: string
  readonly sealed_secret: Buffer
  /** Whether the installation may receive. */
  readonly authorized: boolean
  readonly content: string
}

/**
 * The deliveries that processes share, on `webhook_deliveries_due`. The authority of the installation is judged as the
 * claim is made, and the attempt follows at once. A delivery whose endpoint is gone is not joined, and so never claimed.
 *
 * `$4` is the endpoint, `$5` the attempts at once that are left to it in this process, and `$6` names this process: what
 * others hold counts against the same limit.
 */
export const claimedDeliveries = new ClaimedRows<DeliveryRow>({
  table: 'webhook_deliveries',
  key: ['id'],
  due: "r.endpoint_id = $4 and r.status = 'pending' and r.due_at <= $1",
  order: 'r.due_at, r.position',
  most: `
    least($3::bigint, greatest(0, $5::bigint - (
      select count(*) from webhook_deliveries h
      where h.claim is not null and h.endpoint_id = $4 and h.claimed_until >= $1 and h.holder <> $6)))`,
  also: 'holder = $6, lapses = r.lapses + (r.claim is not null)::integer',
  join: {
    clause: `
      join webhook_endpoints w on w.id = r.endpoint_id
      join installations i on i.id = w.installation_id
      join organizations o on o.id = i.organization_id
      left join events v on v.organization_id = r.organization_id and v.session_id = r.session_id
        and v.sequence = r.sequence`,
    columns: {
      lapsed: 'r.claim is not null',
      url: 'w.url',
      sealed_secret: 'w.sealed_secret',
      authorized: `(${receives})`,
      content: 'coalesce(r.body, v.envelope)',
    },
  },
})

/**
 * Claims deliveries of an endpoint, in the order in which their attempts begin. The lock comes in a statement of its own:
 * the claim then sees what another process has just claimed, and so the endpoint's slots are never exceeded.
 *
 * Neither this commit nor that of the outcomes waits for the disk. Should the database crash within the moment until its
 * log is flushed, some deliveries are attempted once more.
 * @param slots attempts at once that are left to the endpoint in this process
 */
export async function claimDeliveries(
  db: Database,
  by: { readonly now: Date; readonly until: Date; readonly holder: string },
  endpoint: { readonly id: string; readonly slots: number },
  limit: number,
): Promise<readonly ClaimedDelivery[]> {
  const claimed = await db.transaction(async tx => {
    const locked = tx.query({
      name: 'lock-webhook-claims',
      text: `
        select set_config('synchronous_commit', 'off', true),
          pg_advisory_xact_lock(hashtextextended('webhook_claims/' || $1, 0))`,
      values: [endpoint.id],
    })
    const values = [endpoint.id, endpoint.slots, by.holder]
    const [rows] = await Promise.all([claimedDeliveries.claim<ClaimedDelivery>(tx, by, limit, values), locked])
    return rows
  })
  // An update returns rows in any order.
  return claimed.toSorted((a, b) => a.position - b.position)
}

/** An endpoint that has deliveries to begin. */
export interface DueEndpoint {
  readonly id: string
  /** Failed attempts in a row. */
  readonly failures: number
}

/**
 * Finds the endpoints with deliveries that are due and that nobody holds, by id. It skips from endpoint to endpoint on
 * `webhook_deliveries_due`, so the backlog of one costs nothing.
 */
export async function findDueEndpoints(db: Queryable, now: Date): Promise<readonly DueEndpoint[]> {
  return await queryRows<DueEndpoint>(db, {
    name: 'find-due-webhook-endpoints',
    text: `
      with recursive pending as (
        (select endpoint_id from webhook_deliveries where status = 'pending' order by endpoint_id limit 1)
        union all
        select (
          select d.endpoint_id from webhook_deliveries d
          where d.status = 'pending' and d.endpoint_id > p.endpoint_id order by d.endpoint_id limit 1)
        from pending p where p.endpoint_id is not null
      )
      select w.id, w.failures from pending p join webhook_endpoints w on w.id = p.endpoint_id
      cross join lateral (
        select from webhook_deliveries d
        where d.endpoint_id = p.endpoint_id and d.status = 'pending' and d.due_at <= $1
          and (d.claimed_until is null or d.claimed_until < $1)
        order by d.due_at limit 1) due
      order by w.id`,
    values: [now],
  })
}

/** Lists the organizations whose Sessions have endpoints. */
export async function listWatchedOrganizations(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ organization_id: string }>({
    name: 'list-watched-organizations',
    text: `
      select distinct i.organization_id from webhook_endpoints w join installations i on i.id = w.installation_id`,
  })
  return rows.map(row => row.organization_id)
}

/** A claimed delivery with what became of it; without an attempt its claim is given back. */
export interface Finished {
  readonly claim: string
  readonly endpointId: string
  readonly settled: Settled
  readonly attempt: Attempt | null
  readonly endedAt: Date
}

/**
 * Writes outcomes, with what they say about their endpoints, and releases the rows. A row whose claim was taken over
 * stays as it is.
 */
export async function finishDeliveries(
  db: Database,
  finished: readonly Finished[],
  news: readonly EndpointNews[],
): Promise<void> {
  await db.transaction(tx =>
    Promise.all([
      tx.query({ name: 'relax-webhook-outcomes', text: "select set_config('synchronous_commit', 'off', true)" }),
      releaseDeliveries(tx, finished),
      recordEndpoints(tx, news),
    ]),
  )
}

async function releaseDeliveries(tx: Queryable, finished: readonly Finished[]): Promise<void> {
  await tx.query({
    name: 'finish-webhook-deliveries',
    text: `
      update webhook_deliveries r
      set status = t.status, tries = t.tries, due_at = coalesce(t.due_at, r.due_at), ended_at = t.ended_at,
        attempts = r.attempts || coalesce(t.attempt::jsonb, '[]'),
        holder = null, claim = null, claimed_until = null
      from unnest($1::uuid[], $2::text[], $3::integer[], $4::timestamptz[], $5::timestamptz[], $6::text[])
        as t (claim, status, tries, due_at, ended_at, attempt)
      where r.claim = t.claim`,
    values: [
      finished.map(({ claim }) => claim),
      finished.map(({ settled }) => settled.status),
      finished.map(({ settled }) => settled.tries),
      finished.map(({ settled }) => settled.dueAt),
      finished.map(({ settled, endedAt }) => (settled.status === 'pending' ? null : endedAt)),
      finished.map(({ attempt }) => (attempt === null ? null : JSON.stringify(attempt))),
    ],
  })
}

/** What some attempts, in their order, say about an endpoint. */
export interface EndpointNews {
  readonly id: string
  readonly succeededAt: Date | null
  /** Failures since the last success among them, or all of them. */
  readonly failures: number
  readonly lastFailure: {
    readonly at: Date
    readonly status: number | null
    readonly error: WebhookError | null
  } | null
}

/** Adds news to the rows of endpoints, which it locks in the order of their ids: other processes write them too. */
async function recordEndpoints(tx: Queryable, news: readonly EndpointNews[]): Promise<void> {
  await tx.query({
    name: 'record-webhook-endpoints',
    text: `
      with locked as (select id from webhook_endpoints where id = any($1::uuid[]) order by id for no key update)
      update webhook_endpoints w
      set last_success_at = greatest(w.last_success_at, t.succeeded_at),
        failures = case when t.succeeded_at is null then w.failures else 0 end + t.failures,
        last_failure_at = coalesce(t.failed_at, w.last_failure_at),
        last_failure_status = case when t.failed_at is null then w.last_failure_status else t.status end,
        last_failure_error = case when t.failed_at is null then w.last_failure_error else t.error end
      from locked l join unnest(
        $1::uuid[], $2::timestamptz[], $3::integer[], $4::timestamptz[], $5::integer[], $6::text[]
      ) as t (id, succeeded_at, failures, failed_at, status, error) using (id)
      where w.id = l.id`,
    values: [
      news.map(({ id }) => id),
      news.map(({ succeededAt }) => succeededAt),
      news.map(({ failures }) => failures),
      news.map(({ lastFailure }) => lastFailure?.at ?? null),
      news.map(({ lastFailure }) => lastFailure?.status ?? null),
      news.map(({ lastFailure }) => lastFailure?.error ?? null),
    ],
  })
}

/** Counts the deliveries that are due, on `webhook_deliveries_due`, with the age of the oldest. */
export async function countDue(
  db: Queryable,
  now: Date,
): Promise<{ readonly count: number; readonly ageSeconds: number }> {
  const { rows } = await db.query<{ count: number; since: Date | null }>({
    name: 'count-due-webhook-deliveries',
    text: `
      select count(*) as count, min(greatest(d.due_at, d.created_at)) as since
      from webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id
      where d.status = 'pending' and d.due_at <= $1`,
    values: [now],
  })
  const { count = 0, since = null } = rows[0] ?? {}
  return { count, ageSeconds: since === null ? 0 : Math.max(0, (now.getTime() - since.getTime()) / 1000) }
}

/**
 * Deletes deliveries that ended before these times, and those of endpoints that are gone.
 * @returns the number of rows
 */
export async function forgetDeliveries(
  db: Queryable,
  before: { readonly succeeded: Date; readonly other: Date },
  signal: AbortSignal,
): Promise<number> {
  const old: readonly (readonly [condition: string, values: readonly Date[]])[] = [
    ["r.status = 'succeeded' and r.ended_at < $1", [before.succeeded]],
    ["r.status = 'failed' and r.ended_at < $1", [before.other]],
    ['not exists (select 1 from webhook_endpoints w where w.id = r.endpoint_id)', []],
  ]
  let forgotten = 0
  for (const [where, values] of old)
    forgotten += await deleteInBatches(db, { table: 'webhook_deliveries', where, values }, signal)
  return forgotten
}
