import { takes, takesNew } from '@berth/core/runtimes/own-hosts.ts'
import { HOST_AWAY_MS } from '@berth/core/runtimes/runtime-hosts.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { RunClaim, Taken } from './claim.ts'
import { type Claimant, type ClaimRow, claimed, locksExecution, onHeldHost, takeFence, toClaim } from './claim-sql.ts'
import { type Pending, pendingColumns, roomOf } from './placement-sql.ts'

/** A claim looks at so many Runs, and at two of each organization at least: other workers may be locking the first ones. */
const MAX_CANDIDATES = 64

/** Limits on a claim that rows do not know. */
export interface ClaimBounds {
  /** A Run waits so long for the worker that holds the host of its Session's last sandbox. */
  readonly headStartMs: number
  /** Sandboxes that are about to be made, for Sessions of this worker's claims. */
  readonly pending: readonly Pending[]
  /** Hosts whose line is cut. No sandbox is begun there; those that they have are reached again, or given up. */
  readonly away: readonly string[]
}

/** The Run that was claimed, if any, and whether another one was left that this worker could take now or soon. */
export interface QueueClaim {
  readonly claim: Taken<RunClaim> | null
  readonly isLeft: boolean
  /** Time until the next Run may start that may not start yet. */
  readonly dueInMs: number | null
}

/**
 * SQL condition: only some hosts have the runtime of a Run, and one of them is at work that takes its organization. Others'
 * hosts may say what they like. `$4` is when it was heard of.
 */
const isAnnounced = (run: string): string => `(${run}.runtime is not null and exists (
  select 1 from hosts h
  where ${run}.runtime = any (h.runtimes) and h.seen_at > $4 and ${takes('h', `${run}.organization_id`)}))`

/**
 * Claims the next queued Run that this worker can carry out. One statement takes one Run, so the next statement counts its
 * sandbox and its organization's turn, and workers that look at the same moment alternate.
 *
 * - `open`: the hosts of this worker at which a sandbox may be begun, and that have room for one.
 * - `waiting`: the organizations with queued Runs, on `runs_queued_of_organization`, and how many Runs of each are at work, on
 *   `runs_at_work`.
 * - `candidates`: the oldest Runs of each that this worker can take. The sandbox of the Session stands at one of its hosts, or
 *   the Session has none within reach and an open host takes its organization and has its runtime. A Run is due at once at the
 *   host of its Session's last sandbox, which has its repository, its image and its packages. Elsewhere it is due after the
 *   head start, by the database's clock, or at once if that host would get no sandbox now.
 * - `next`: organizations take turns. Next comes the oldest Run of the one with the fewest Runs at work, each one that comes
 *   before counted. So the burst of one organization holds up no other, one that is alone has its Runs oldest first, and a Run
 *   that is locked, or whose execution is, is passed over for the next turn.
 */
export async function claimRun(db: Queryable, by: Claimant, bounds: ClaimBounds): Promise<QueueClaim> {
  const { rows } = await db.query<Partial<ClaimRow> & { is_left: boolean; due_in_ms: number | null }>({
    name: 'claim-run',
    text: `
      with open as materialized (
        select h.organization_id, coalesce(h.runtimes, '{}') as runtimes
        from unnest($3::text[]) as own (id) left join hosts h on h.id = own.id
        where ${takesNew('h')} and own.id <> all ($9) and ${roomOf('h', '1', '$6', '$7', '$8')} > 0
      ), waiting as materialized (
        select o.organization_id, (
          select count(*) from runs a
          where a.organization_id = o.organization_id and a.status in ('dispatching', 'running')) as at_work
        from (select distinct organization_id from runs where status = 'queued') as o
      ), candidates as materialized (
        select r.*, waiting.at_work from waiting, lateral (
          select r.organization_id, r.session_id, r.id, r.due_at,
            coalesce(near.host = any ($3), true)
              or r.due_at <= statement_timestamp() - $5 * interval '1 millisecond'
              or not exists (
                select 1 from hosts h
                where h.id = near.host and h.seen_at > $4 and ${takesNew('h')} and ${takes('h', 'r.organization_id')}
              ) as is_due
          from runs r
          left join lateral (
            select l.host, l.ended_at is null as stands from leases l
            where l.organization_id = r.organization_id and l.session_id = r.session_id
            order by l.ended_at is null desc, l.created_at desc limit 1) near on true
          where r.organization_id = waiting.organization_id
            and r.status = 'queued' and r.due_at <= greatest($2, statement_timestamp()) and ${onHeldHost}
            and (near.stands and near.host = any ($3) or exists (
              select 1 from open
              where ${takes('open', 'r.organization_id')}
                and (r.runtime is null or r.runtime = any (open.runtimes) or not ${isAnnounced('r')})))
            -- The last Run is still being sealed, or the workspace restored.
            and not exists (
              select 1 from executions e
              where e.organization_id = r.organization_id and e.session_id = r.session_id and e.task is not null)
          order by r.due_at limit greatest(2, ${MAX_CANDIDATES} / (select count(*) from waiting))
        ) r
      ), next as (
        select r.organization_id, r.session_id, r.id, 'run' as task, r.attempts + 1 as attempts
        from (
          select c.*, c.at_work + row_number() over (partition by c.organization_id order by c.due_at, c.id) as turn
          from candidates c where c.is_due
          order by turn, c.due_at, c.id
        ) c, lateral (
          -- One by one in their order, so that no more are locked than have to be passed over.
          select r.* from runs r
          where (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.id) and r.status = 'queued'
          for update skip locked
        ) r
        where ${locksExecution('r', 'e.task is null')} limit 1
      ), fence as (${takeFence('next', 'executions.task is null')}
      ), taken as (
        update runs r set status = 'dispatching', attempts = next.attempts
        from next join fence using (organization_id, session_id)
        where (r.organization_id, r.session_id, r.id) = (next.organization_id, next.session_id, next.id)
        returning r.*, 'run' as task
      )
      select looked.is_left, looked.due_in_ms, claimed.* from (
        select (select count(*) from candidates) > (select count(*) from taken) as is_left, (
          select least(60000, ceil(1000 * extract(epoch from min(due_at) - statement_timestamp())))::integer
          from runs where status = 'queued' and due_at > greatest($2, statement_timestamp())) as due_in_ms) as looked
      left join (${claimed}) as claimed on true`,
    values: [
      by.holder,
      by.now,
      by.hosts,
      new Date(by.now.getTime() - HOST_AWAY_MS),
      bounds.headStartMs,
      ...pendingColumns(bounds.pending),
      bounds.away,
    ],
  })
  const [row] = rows
  if (row === undefined) return { claim: null, isLeft: false, dueInMs: null }
  const { is_left: isLeft, due_in_ms: dueInMs, ...run } = row
  return { claim: isClaim(run) ? toClaim(run, by) : null, isLeft, dueInMs }
}

const isClaim = (row: Partial<ClaimRow>): row is ClaimRow => typeof row.id === 'string'
