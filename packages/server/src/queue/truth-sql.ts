/** A kind of work that workers take under a fence. A Run and the seal after it are one. */
export type FencedWork = 'run' | 'workspace'

/** A kind of work whose rows are claimed for a time. */
export type TimedWork = 'publication' | 'merge' | 'review' | 'look'

/** SQL: the columns of `queue`. */
export const queueColumns = 'organization_id, session_id, work, id, runtime, due_at, holder, at_work'

/** The join that picks rows by the columns of an alias; `''` picks all of them. */
type Picking = (alias: string) => string

/** Stands for a table: the table itself, or a CTE with rows of it. */
type Standing = (table: string) => string
const itself: Standing = table => table

/** SQL: the rows that `queue` has to hold of work under a fence, from the tables where it stands. */
export const fencedTruth = (of: Picking, from: Standing = itself): string => `
  select r.organization_id, r.session_id, 'run' as work, r.id, r.runtime, r.claimable_at as due_at, null::text as holder,
    false as at_work
  from ${from('runs')} r ${of('r')} where r.ended_at is null and r.status = 'queued'
  union all
  select e.organization_id, e.session_id, 'run', r.id, r.runtime, e.expires_at, e.holder,
    r.status in ('dispatching', 'running')
  from ${from('executions')} e ${of('e')}
  join ${from('runs')} r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
  where e.task in ('run', 'seal') and r.status <> 'queued' and (r.ended_at is null or e.task = 'seal')
  union all
  select e.organization_id, e.session_id, 'workspace', e.session_id, null, e.expires_at, e.holder, false
  from ${from('executions')} e ${of('e')} where e.task = 'restore'
  union all
  select w.organization_id, w.session_id, 'workspace', w.session_id, null, w.requested_at, null, false
  from ${from('workspace_requests')} w ${of('w')}
  where w.failed_at is null and not exists (
    select from ${from('executions')} e
    where e.organization_id = w.organization_id and e.session_id = w.session_id and e.task = 'restore')`

/** How a row of work that is claimed for a time stands in the queue. All of this is SQL of a row's alias. */
interface QueuedTable {
  readonly table: string
  /** Its id in the queue. */
  readonly id: (row: string) => string
  /** True while it is in the queue. */
  readonly open: (row: string) => string
  /** From when it may be claimed. */
  readonly due: (row: string) => string
}

const isOpen = (row: string) => `${row}.completed_at is null`
const dueOrLapsed = (row: string) => `greatest(${row}.due_at, ${row}.claimed_until)`

export const queuedTables: Readonly<Record<TimedWork, QueuedTable>> = {
  publication: { table: 'publications', id: row => `${row}.id`, open: isOpen, due: dueOrLapsed },
  merge: {
    table: 'merges',
    // Callers choose ids, and two Publications may have Merges of the same one.
    id: row => `md5(${row}.publication_id::text || ${row}.id::text)::uuid`,
    open: isOpen,
    due: dueOrLapsed,
  },
  review: {
    table: 'review_requests',
    id: row => `${row}.session_id`,
    open: row => `${row}.answered < ${row}.asked`,
    due: row => `coalesce(${row}.claimed_until, 'epoch')`,
  },
  look: {
    table: 'file_looks',
    id: row => `${row}.id`,
    open: row => `${row}.answered_at is null`,
    due: row => `greatest(${row}.asked_at, ${row}.claimed_until)`,
  },
}

/** SQL: the rows that `queue` has to hold of work that is claimed for a time. */
export const timedTruth = (of: Picking, from: Standing = itself): string =>
  Object.entries(queuedTables)
    .map(
      ([work, { table, id, open, due }]) => `
  select r.organization_id, r.session_id, '${work}' as work, ${id('r')} as id, null::text as runtime, ${due('r')} as due_at,
    null::text as holder, false as at_work
  from ${from(table)} r ${of('r')} where ${open('r')}`,
    )
    .join(' union all ')
