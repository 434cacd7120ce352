import { isHeard } from '../../processes/process-sql.ts'
import { takes, takesNew } from '../../runtimes/own-hosts.ts'
import { HOST_AWAY_MS } from '../../runtimes/runtime-hosts.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { RunClaim, Taken } from './claim.ts'
import { type Claimant, type ClaimRow, claimed, onHeldHost, takeFence, toClaim } from './claim-parts.ts'
import { type Pending, pendingColumns, roomOf } from './room-sql.ts'

/** Of the queue a claim looks at so many Runs at least, at so many organizations, and at so many workers. */
const WINDOW = 64
/** Organizations with more Runs at work than this have equally many. */
const MOST_HELD = 256

/** What a worker has to do, so that the statement leaves others their share. */
export interface Share {
  /** What it can work on at once, and works on. */
  readonly hands: number
  readonly busy: number
  /** A Run that was claimable for longer waits for no better worker any more. */
  readonly patienceMs: number
  /** Sandboxes that are about to be made, for Sessions of its claims. */
  readonly pending: readonly Pending[]
  /** Hosts whose line is cut. No sandbox is begun there; those that they have are reached again, or given up. */
  readonly away: readonly string[]
}

/** Runs that were claimed, and how many were left that this process could have taken. */
export interface ShareClaims {
  readonly claims: readonly Taken<RunClaim>[]
  readonly left: number
}

/** SQL expression, by the database's clock: the one of a process may be wrong. */
const patientSince = `(statement_timestamp() - $8 * interval '1 millisecond')`
/** A century. */
const NO_END_MS = 3_155_760_000_000

/**
 * CTEs: organizations with queued Runs, by steps from one to the next on `runs_queued_of_organization`, and how many Runs of
 * each are at work, on `runs_at_work`, if there are several. The steps begin elsewhere each second, at the same place for all
 * workers, so that none of very many organizations stays out of the window.
 */
const waitingOrganizations = `
  start as (select md5(floor(extract(epoch from statement_timestamp()))::text)::uuid as id), stepped as (
    select start.id as organization_id, 0 as n, false as wrapped from start
    union all
    select next.organization_id, w.n + 1, next.wrapped from stepped w, start, lateral (
      (select r.organization_id, w.wrapped from runs r
        where r.status = 'queued' and r.organization_id > w.organization_id
          and (not w.wrapped or r.organization_id <= start.id)
        order by r.organization_id limit 1)
      union all
      (select r.organization_id, true from runs r
        where r.status = 'queued' and r.organization_id <= start.id and not w.wrapped
        order by r.organization_id limit 1)
      limit 1
    ) next
    where w.n < ${WINDOW}
  ), waiting as materialized (
    select w.organization_id, case when (select max(n) from stepped) > 1 then (
      select count(*) from (
        select from runs a
        where a.organization_id = w.organization_id and a.status in ('dispatching', 'running') limit ${MOST_HELD}) as counted)
      else 0 end as held
    from stepped w where w.n > 0
  )`

/**
 * SQL condition: only some hosts have the runtime of a Run, and one of them is at work that takes its organization. Others'
 * hosts may say what they like. `$5` is when it was heard of.
 */
const isAnnounced = (run: string): string => `(${run}.runtime is not null and exists (
  select 1 from hosts h
  where ${run}.runtime = any (h.runtimes) and h.seen_at > $5 and ${takes('h', `${run}.organization_id`)}))`

/** SQL condition: a host has the runtime of a kind, or every host does. */
const hasRuntime = (host: string, run: string): string =>
  `(not ${run}.announced or ${run}.runtime = any (${host}.runtimes))`

/**
 * Claims this worker's share of the queued Runs. Organizations take turns: next comes the oldest Run of the one with the
 * fewest Runs at work, each one that comes before counted. So the burst of one organization holds up no other, and one that is
 * alone has its Runs oldest first, those whose sandboxes stand before the others.
 *
 * A Run whose Session has a sandbox goes to a worker that holds the sandbox's host. Each other one is offered to the
 * worker with the largest part of its hands free, which has one hand less for the next one. All workers compute the same
 * offers, since rows alone decide, and each takes its own. Within the offers, a Run goes to a worker that holds the host of
 * its Session's last sandbox, which has its repository, its image and its packages. A Run that nobody took in time is
 * anybody's. Workers that look at the same moment know nothing of each other's claims, and may leave a Run to each other;
 * so a worker looks again soon if it left one.
 *
 * Runs are of one kind if the same workers can take them. One call takes fresh Runs of the oldest one's kind, so that
 * offers of two kinds never count the same hand twice.
 */
export async function claimShare(db: Queryable, by: Claimant, limit: number, share: Share): Promise<ShareClaims> {
  const { rows } = await db.query<Partial<ClaimRow> & { left_over: number }>({
    name: 'claim-share',
    text: `
      with recursive open as materialized (
        select own.id, h.organization_id, coalesce(h.runtimes, '{}') as runtimes,
          ${roomOf('h', '$4', '$9', '$10', '$11')} as room
        from unnest($3::text[]) as own (id) left join hosts h on h.id = own.id
        where ${takesNew('h')} and own.id <> all ($12)
      ), ${waitingOrganizations}, candidates as materialized (
        select r.*, waiting.held from waiting, lateral (
          select r.organization_id, r.session_id, r.id, r.runtime, r.claimable_at,
            coalesce(l.host = any ($3), false) as settled, ${isAnnounced('r')} as announced,
            (select h.organization_id from hosts h where h.organization_id = r.organization_id limit 1) as owner
          from runs r
          left join leases l
            on l.organization_id = r.organization_id and l.session_id = r.session_id and l.ended_at is null
          where r.organization_id = waiting.organization_id
            and r.status = 'queued' and r.claimable_at <= greatest($2, statement_timestamp()) and ${onHeldHost}
            and (l.host = any ($3) or exists (
              select 1 from open
              where open.room > 0 and ${takes('open', 'r.organization_id')}
                and (r.runtime is null or r.runtime = any (open.runtimes) or not ${isAnnounced('r')})))
            and not exists (
              select 1 from executions e
              where e.organization_id = r.organization_id and e.session_id = r.session_id and e.task is not null)
          order by r.claimable_at limit greatest($4, ${WINDOW} / (select count(*) from waiting))
        ) r
      ), eligible as materialized (
        select * from (
          select c.*, c.held + row_number() over (
            partition by c.organization_id order by c.settled desc, c.claimable_at, c.id) as turn
          from candidates c) as c
        order by c.turn, c.claimable_at limit greatest($4, ${WINDOW})
      ), kind as (
        select c.runtime, c.announced, c.owner from eligible c where not c.settled order by c.turn, c.claimable_at, c.id limit 1
      ), fresh as (
        select c.*, row_number() over (order by c.turn, c.claimable_at, c.id) as place, (
          select l.host from leases l
          where l.organization_id = c.organization_id and l.session_id = c.session_id
          order by l.created_at desc limit 1) as last_host
        from eligible c join kind k
          on k.announced = c.announced and (not c.announced or k.runtime = c.runtime) and k.owner is not distinct from c.owner
        where not c.settled and c.claimable_at > ${patientSince}
      ), workers as (
        select $1::text as id, null::text as host, $6::integer as hands, $7::integer as busy
        union all
        select * from (
          select p.id, p.host, p.hands, p.busy from processes p, kind k
          where p.id <> $1 and p.hands > p.busy and ${isHeard('p')} and exists (
            select 1 from hosts h
            where (h.id = p.host or h.connected_to = p.id) and ${takesNew('h')} and ${takes('h', 'k.owner')}
              and ${hasRuntime('h', 'k')})
          order by p.busy::float8 / p.hands, p.id limit ${WINDOW}) as others
      ), offers as (
        select * from (
          select w.id as worker, n, row_number() over (order by (w.busy + n)::float8 / w.hands, w.id) as place
          from workers w
          cross join generate_series(0, least(w.hands - w.busy, (select count(*)::integer from fresh)) - 1) as n
        ) o where o.place <= (select count(*) from fresh)
      ), near as (
        select f.id, o.place from (
          select f.id, w.id as worker, row_number() over (partition by w.id order by f.place) - 1 as n
          from fresh f join workers w
            on f.last_host = w.host or (w.id = $1 and f.last_host = any ($3))
            or exists (select 1 from hosts h where h.id = f.last_host and h.connected_to = w.id)
        ) f join offers o using (worker, n)
      ), far as (
        select f.id, o.place from (
          select f.id, row_number() over (order by f.place) as n from fresh f where f.id not in (select id from near)
        ) f join (
          select o.place, row_number() over (order by o.place) as n from offers o
          where o.place not in (select place from near)
        ) o using (n)
      ), mine as (
        select c.organization_id, c.session_id, c.id, c.turn, true as settled from eligible c where c.settled
        union all
        select c.organization_id, c.session_id, c.id, c.turn, false from eligible c join kind k
          on k.announced = c.announced and (not c.announced or k.runtime = c.runtime) and k.owner is not distinct from c.owner
        where not c.settled and c.claimable_at <= ${patientSince}
        union all
        select f.organization_id, f.session_id, f.id, f.turn, false
        from (table near union all table far) as given join offers o using (place) join fresh f using (id)
        where o.worker = $1
      ), picked as (
        select r.organization_id, r.session_id, r.id, 'run' as task, r.attempts + 1 as attempts from (
          select mine.*, row_number() over (partition by mine.settled order by mine.turn) as n from mine
        ) mine
        join runs r on (r.organization_id, r.session_id, r.id) = (mine.organization_id, mine.session_id, mine.id)
        where r.status = 'queued' and (mine.settled or mine.n <= (
          select coalesce(sum(room), 0) from open join kind k on ${takes('open', 'k.owner')} and ${hasRuntime('open', 'k')}
        ))
        order by mine.turn, r.claimable_at limit $4 for update of r skip locked
      ), fence as (${takeFence('picked', 'executions.task is null')}
      ), taken as (
        update runs r set status = 'dispatching', attempts = r.attempts + 1
        from picked as next join fence using (organization_id, session_id)
        where (r.organization_id, r.session_id, r.id) = (next.organization_id, next.session_id, next.id)
        returning r.*, 'run' as task
      ), said as (
        update processes p set busy = $7 + (select count(*) from taken)
        where p.id = $1 and p.busy <> $7 + (select count(*) from taken)
      )
      select counted.left_over, claimed.* from (
        select ((select count(*) from eligible) - (select count(*) from taken))::integer as left_over) as counted
      left join (${claimed}) as claimed on true`,
    values: [
      by.holder,
      by.now,
      by.hosts,
      limit,
      new Date(by.now.getTime() - HOST_AWAY_MS),
      share.hands,
      share.busy,
      share.patienceMs,
      ...pendingColumns(share.pending),
      share.away,
    ],
  })
  const claims = rows.flatMap(({ left_over: _, ...row }) => (isClaim(row) ? [toClaim(row, by)] : []))
  return { claims, left: rows[0]?.left_over ?? 0 }
}

const isClaim = (row: Partial<ClaimRow>): row is ClaimRow => typeof row.id === 'string'

/** Claims queued Runs without a thought of other workers. */
export async function claimQueued(db: Queryable, by: Claimant, limit: number): Promise<readonly Taken<RunClaim>[]> {
  const all = { hands: limit, busy: 0, patienceMs: -NO_END_MS, pending: [], away: [] }
  return (await claimShare(db, by, limit, all)).claims
}
