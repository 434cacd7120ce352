import type { Health } from '@berth/contract'
import { takes } from '@berth/core/runtimes/own-hosts.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** Queued Runs, and live sandboxes, that are listed one by one. */
const [LISTED_RUNS, LISTED_LEASES] = [20, 100]

/** SQL of how people call a host: its name, or for one without, what makes its sandboxes and the beginning of its id. */
const nameOf = (host: string) => `coalesce(${host}.name, case when ${host}.id ~ '^[0-9a-f]{8}-[0-9a-f-]{27}$'
  then coalesce(${host}.driver, 'host') || ' ' || left(${host}.id, 8) else ${host}.id end)`

export interface HostRow {
  readonly host: string
  readonly seen_at: Date
  readonly runtimes: string[]
  readonly packages_fault: string | null
  /** Null: it does not rest. */
  readonly rests_until: Date | null
  readonly leases: number
}

/**
 * Returns the hosts that were heard of since a time, with an organization's live leases on each: those that take its sandboxes,
 * and those that still hold one, since the organization was bound to its own.
 */
export async function listHosts(db: Queryable, organizationId: string, since: Date): Promise<readonly HostRow[]> {
  return await queryRows<HostRow>(db, {
    name: 'list-hosts',
    text: `
      select ${nameOf('h')} as host, h.seen_at, h.runtimes, h.packages_fault, count(l.id)::integer as leases,
        case when h.rests_until > statement_timestamp() then h.rests_until end as rests_until
      from hosts h
      left join leases l on l.host = h.id and l.organization_id = $1 and l.ended_at is null
      where h.seen_at > $2 and h.removed_at is null
      group by h.id having ${takes('h', '$1')} or count(l.id) > 0 order by h.id`,
    values: [organizationId, since],
  })
}

export interface ActiveRow {
  readonly status: 'queued' | 'dispatching' | 'running' | 'awaiting'
  readonly count: number
}

/** Counts an organization's active Runs, on the index of active Runs. */
export async function countActiveRuns(db: Queryable, organizationId: string): Promise<readonly ActiveRow[]> {
  return await queryRows<ActiveRow>(db, {
    name: 'count-active-runs',
    text: `
      select status, count(*)::integer as count from runs
      where organization_id = $1 and ended_at is null group by status`,
    values: [organizationId],
  })
}

export interface QueuedRow {
  readonly session_id: string
  readonly title: string
  readonly queued_at: Date
}

/** Returns an organization's queued Runs that have waited longest. */
export async function listQueuedRuns(db: Queryable, organizationId: string): Promise<readonly QueuedRow[]> {
  return await queryRows<QueuedRow>(db, {
    name: 'list-queued-runs',
    text: `
      select r.session_id, s.title, r.queued_at from runs r
      join sessions s on s.organization_id = r.organization_id and s.id = r.session_id
      where r.organization_id = $1 and r.ended_at is null and r.status = 'queued'
      order by r.queued_at limit ${LISTED_RUNS}`,
    values: [organizationId],
  })
}

/**
 * Counts the Runs that ended since a time, by status. The end of a Run moves its Session, so only Sessions that changed
 * since then are looked at, on the organization's indexes.
 */
export async function countEndedRuns(
  db: Queryable,
  organizationId: string,
  since: Date,
): Promise<readonly { readonly status: keyof Health['ended']; readonly count: number }[]> {
  return await queryRows<{ status: keyof Health['ended']; count: number }>(db, {
    name: 'count-ended-runs',
    text: `
      with moved as (
        select id, created_at from sessions where organization_id = $1 and archived_at is null
          and listed_at >= date_trunc('second', $2::timestamptz at time zone 'UTC')
        union all
        select id, created_at from sessions where organization_id = $1 and archived_at is not null
          and listed_at >= date_trunc('second', $2::timestamptz at time zone 'UTC'))
      select r.status, count(*)::integer as count from moved m
      join runs r on r.organization_id = $1 and r.session_id = m.id and r.ended_at >= $2
        and r.ended_at >= m.created_at -- not one that a fork has copied
      group by r.status`,
    values: [organizationId, since],
  })
}

export interface LeaseRow {
  readonly session_id: string
  readonly title: string
  readonly host: string
  readonly runtime: string
  readonly state: string
  readonly working: boolean
  readonly created_at: Date
  readonly expires_at: Date
  /** Of all live leases of the organization. */
  readonly total: number
}

/** Returns an organization's live leases, the newest first. */
export async function listLiveLeases(db: Queryable, organizationId: string): Promise<readonly LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    name: 'list-live-leases',
    text: `
      select l.session_id, s.title, coalesce(${nameOf('h')}, l.host) as host, l.runtime, l.state, l.created_at, l.expires_at,
        exists (
          select from runs r where r.organization_id = l.organization_id and r.session_id = l.session_id
            and r.ended_at is null and r.status <> 'queued') as working,
        count(*) over ()::integer as total
      from leases l join sessions s on s.organization_id = l.organization_id and s.id = l.session_id
      left join hosts h on h.id = l.host
      where l.organization_id = $1 and l.ended_at is null
      order by l.created_at desc, l.id limit ${LISTED_LEASES}`,
    values: [organizationId],
  })
}

export interface BacklogRow {
  readonly kind: string
  readonly waiting: number
  readonly oldest_at: Date | null
}

/** Counts the pending work of an organization, on the partial indexes of open rows. */
export async function listBacklogs(db: Queryable, organizationId: string): Promise<readonly BacklogRow[]> {
  return await queryRows<BacklogRow>(db, {
    name: 'list-backlogs',
    text: `
      select 'workspace' as kind, count(*)::integer as waiting, min(requested_at) as oldest_at
        from workspace_requests where organization_id = $1 and failed_at is null
      union all
      select 'review', count(*)::integer, null from review_requests where organization_id = $1 and answered < tickets
      union all
      select 'publication', count(*)::integer, min(created_at) from publications
        where organization_id = $1 and ended_at is null
      union all
      select 'merge', count(*)::integer, min(created_at) from merges
        where organization_id = $1 and ended_at is null
      union all
      select 'webhook', count(*)::integer, min(d.created_at) from installations i
        join webhook_endpoints e on e.installation_id = i.id
        join webhook_deliveries d on d.endpoint_id = e.id and d.status = 'pending'
        where i.organization_id = $1`,
    values: [organizationId],
  })
}

/** Counts an organization's requests to models since a time, on `gateway_requests_of_organization`. */
export async function countModelRequests(
  db: Queryable,
  organizationId: string,
  since: Date,
): Promise<Health['models']> {
  const { rows } = await db.query<{ requests: number; failed: number }>({
    name: 'count-model-requests',
    text: `
      select count(*)::integer as requests, count(*) filter (where outcome = 'failed')::integer as failed
      from gateway_requests where organization_id = $1 and started_at >= $2`,
    values: [organizationId, since],
  })
  return rows[0] ?? { requests: 0, failed: 0 }
}
