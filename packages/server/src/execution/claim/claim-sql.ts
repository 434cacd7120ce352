import { lapsedProcesses } from '../../processes/process-sql.ts'
import { rightQueue } from '../../queue/queue-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { Claim, RunClaim, Taken } from './claim.ts'
import {
  type Claimant,
  type ClaimRow,
  claimed,
  holdInQueue,
  isClaim,
  keysOf,
  leaseHost,
  onHeldHost,
  type Passed,
  passedOver,
  placeableHere,
  takeFence,
  toClaim,
} from './claim-parts.ts'

/**
 * SQL: the processes that have fallen silent. Few have at any time, and the queue's rows of each are read by its id, so
 * it is not for the planner to join these tables as it likes.
 */
const silentProcesses = `select lapsed.id, lapsed.heard_at from ${lapsedProcesses('$1')}`

/**
 * SQL condition: some claim has lapsed, by the first entry of `queue_lapsed`. Waiting rows are all due in the past and held
 * ones never are. The planner takes the two for independent, expects many lapsed rows, and would read the whole queue.
 */
const hasLapsed = `(
  select q.due_at from queue q where q.holder is not null order by q.due_at limit 1) < statement_timestamp()`

/**
 * Takes over Runs whose claims lapsed without a word from their workers: those with a past time, by the index
 * `queue_lapsed`, and those of processes that have fallen silent, by `queue_of_holder`.
 *
 * Of two workers that find the same row of the queue, one locks it. The other skips it, or takes nothing, because the
 * execution has a new holder. The execution is taken as it stands once its holder's transaction is over.
 */
export async function adoptLapsed(db: Queryable, by: Claimant, limit: number): Promise<Taken<RunClaim>[]> {
  const { rows } = await db.query<Partial<ClaimRow> & { passed: Passed }>({
    name: 'adopt-lapsed',
    text: `
      with silent as materialized (${silentProcesses}
      ), lapsed as materialized (
        select organization_id, session_id, id, null as silent, due_at as since from queue
        where work = 'run' and holder is not null and due_at < statement_timestamp() and ${hasLapsed}
        union all
        select q.organization_id, q.session_id, q.id, silent.id, silent.heard_at
        from silent join queue q on q.holder = silent.id and q.work = 'run' and q.due_at = 'infinity'
      ), picked as (
        select r.organization_id, r.session_id, r.id, l.silent from lapsed l
        join queue r on r.organization_id = l.organization_id and r.session_id = l.session_id and r.work = 'run'
          and r.id = l.id
        where ${onHeldHost} and ${placeableHere}
        order by l.since limit $4 for update of r skip locked
      ), fence as (
        update executions e set token = e.token + 1, holder = $1, acquired_at = $2, heartbeat_at = $2, expires_at = 'infinity'
        from (select * from picked order by organization_id, session_id) as next
        where e.organization_id = next.organization_id and e.session_id = next.session_id and e.run_id = next.id
          and e.task is not null and (e.expires_at < statement_timestamp() or e.holder = next.silent)
        returning e.organization_id, e.session_id, e.token, e.task, e.run_id
      ), taken as (
        update runs r set handovers = handovers + 1
        from fence
        where r.organization_id = fence.organization_id and r.session_id = fence.session_id and r.id = fence.run_id
        returning r.*, fence.task as task
      ), held as (${holdInQueue('run')})
      select counted.*, claimed.* from (select ${passedOver} as passed) as counted left join (${claimed}) as claimed on true`,
    values: [by.holder, by.now, by.hosts, limit],
  })
  await rightQueue(db, 'fenced', keysOf(rows[0]?.passed))
  return rows.flatMap(({ passed: _, ...row }) => (isClaim(row) ? [toClaim(row, by)] : []))
}

/**
 * Returns true if there is something to claim that no wake-up tells of: a claim that has lapsed, or a queued Run whose
 * time has come since the last look or two. It reads indexes alone, and does not ask which host may take it.
 */
export async function isDue(db: Queryable, holder: string, withinMs: number): Promise<boolean> {
  const { rows } = await db.query<{ due: boolean }>({
    name: 'is-due',
    text: `
      with silent as materialized (${silentProcesses}
      )
      select coalesce(${hasLapsed}, false)
        or exists (
          select 1 from queue
          where work = 'run' and holder is null and due_at <= statement_timestamp()
            and due_at > statement_timestamp() - $2 * interval '1 millisecond')
        or exists (select 1 from silent join queue q on q.holder = silent.id and q.due_at = 'infinity') as due`,
    values: [holder, withinMs],
  })
  return rows[0]?.due ?? false
}

/**
 * Claims requested workspaces, and takes over those of lost workers. A request stands until a worker has carried it
 * out, so one statement does both. The execution has to be as it was seen: a worker that carried the request out meanwhile
 * has released it.
 */
export async function claimWorkspaces(db: Queryable, by: Claimant, limit: number): Promise<Taken<Claim>[]> {
  const { rows } = await db.query<Partial<WorkspaceRow> & { passed: Passed }>({
    name: 'claim-workspaces',
    text: `
      with silent as materialized (${silentProcesses}
      ), open as materialized (
        select organization_id, session_id from queue where work = 'workspace' and holder is null
        union all
        select organization_id, session_id from queue
        where work = 'workspace' and holder is not null and due_at < statement_timestamp() and ${hasLapsed}
        union all
        select q.organization_id, q.session_id from silent join queue q on q.holder = silent.id and q.work = 'workspace'
      ), picked as (
        select r.organization_id, r.session_id from open
        join queue r on r.organization_id = open.organization_id and r.session_id = open.session_id
          and r.work = 'workspace' and r.id = r.session_id
        where ${onHeldHost} and ${placeableHere}
          and not exists (
            select 1 from queue h
            where h.organization_id = r.organization_id and h.session_id = r.session_id and h.work = 'run'
              and h.holder is not null)
        order by r.holder is null, r.due_at limit $4 for update of r skip locked
      ), taken as (
        select r.organization_id, r.session_id, 'restore' as task, null::uuid as id, 0 as attempts, e.task as seen
        from picked
        join workspace_requests r
          on r.organization_id = picked.organization_id and r.session_id = picked.session_id and r.failed_at is null
        left join executions e on e.organization_id = r.organization_id and e.session_id = r.session_id
        where e.task is null or (e.task = 'restore' and (e.expires_at < statement_timestamp()
          or e.holder in (select id from silent)))
      ), fence as (
        ${takeFence(`executions.task is not distinct from (
          select seen from taken
          where taken.organization_id = executions.organization_id and taken.session_id = executions.session_id)`)}
      ), held as (${holdInQueue('workspace')})
      select counted.*, fence.*, ${leaseHost('fence')} as lease_host
      from (select ${passedOver} as passed) as counted left join fence on true`,
    values: [by.holder, by.now, by.hosts, limit],
  })
  await rightQueue(db, 'fenced', keysOf(rows[0]?.passed))
  return rows.flatMap(({ passed: _, ...row }) => (isWorkspace(row) ? [toWorkspaceClaim(row, by)] : []))
}

interface WorkspaceRow {
  readonly organization_id: string
  readonly session_id: string
  readonly token: number
  readonly lease_host: string | null
}

const isWorkspace = (row: Partial<WorkspaceRow>): row is WorkspaceRow => typeof row.session_id === 'string'

const toWorkspaceClaim = (
  { organization_id: organizationId, session_id: sessionId, token, lease_host: leaseHost }: WorkspaceRow,
  { holder }: Claimant,
): Taken<Claim> => ({ organizationId, sessionId, runId: null, token, holder, leaseHost })
