import type { SessionKey } from '../kit/session-key.ts'
import type { Queryable } from '../storage/postgres/database.ts'
import { fencedTruth, queueColumns, queuedTables, type TimedWork, timedTruth } from './truth-sql.ts'

// `queue` says which work of Sessions waits and which is held, so that claims read and lock one small table. It is no second
// truth: a claim takes the work itself by its key, if that can still be taken.
//
// Who claims locks rows of `queue` first, skips those that are locked, and then waits for rows of the work. So nobody who
// has locked anything of a Session ever waits for a row of `queue`: it is written through `skip locked`. A row that is
// skipped belongs to a claim that is under way. That one finds the work changed, takes nothing, and aligns the row. Who has
// locked nothing else may wait, for several rows in the order of their keys.

/** SQL: `q` and `other` are the same row of `queue`. */
const sameRow = (q: string, other: string): string =>
  `${q}.organization_id = ${other}.organization_id and ${q}.session_id = ${other}.session_id and ${q}.work = ${other}.work
    and ${q}.id = ${other}.id`

/** SQL: both rows say the same. */
const sameWords = (q: string, other: string): string =>
  `(${q}.due_at, ${q}.holder, ${q}.at_work, ${q}.runtime) is not distinct from
    (${other}.due_at, ${other}.holder, ${other}.at_work, ${other}.runtime)`

/** Puts a Run that was inserted before, in the same transaction, into the queue. It is new, so this waits for nobody. */
export async function enqueueRun(tx: Queryable, key: SessionKey, runId: string): Promise<void> {
  await tx.query({
    name: 'enqueue-run',
    text: `
      insert into queue (organization_id, session_id, work, id, runtime, due_at)
      select organization_id, session_id, 'run', id, runtime, claimable_at from runs
      where organization_id = $1 and session_id = $2 and id = $3`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

const works = { fenced: "'run', 'workspace'", timed: "'publication', 'merge', 'review', 'look'" } as const

/** SQL: the Sessions to compare. A statement for one that is given by columns takes a third of the time of one for an array. */
const one = 'select $1::uuid as organization_id, $2::uuid as session_id'
const many = 'select * from unnest($1::uuid[], $2::uuid[]) as k (organization_id, session_id)'

/** SQL: the queue of some Sessions as it is, and as it should be. */
const comparing = (kind: keyof typeof works, truthOf: typeof fencedTruth, keys: string): string => `
  with k as (${keys}
  ), truth as materialized (
    ${truthOf(alias => `join k on k.organization_id = ${alias}.organization_id and k.session_id = ${alias}.session_id`)}
  ), seen as materialized (
    select q.* from k join queue q on q.organization_id = k.organization_id and q.session_id = k.session_id
      and q.work in (${works[kind]})
  )`

/** SQL: locks the rows of the queue that are wrong, but for those that somebody has locked or changed meanwhile. */
const wrongUnlocked = `, mine as materialized (
    select q.* from seen s join queue q on ${sameRow('q', 's')}
    where ${sameWords('q', 's')}
      and not exists (select from truth t where ${sameRow('t', 's')} and ${sameWords('t', 's')})
    for update of q skip locked
  )`

/**
 * SQL: locks all rows of the queue, and waits for them. Those that seem right as well: a transaction that has passed over one
 * may not have ended yet.
 */
const allOfThem = `, mine as materialized (
    select q.* from seen s join queue q on ${sameRow('q', 's')}
    order by q.organization_id, q.session_id, q.work, q.id for update of q
  )`

/** SQL: writes the rows of `mine` as a CTE says, and those that the queue lacks. */
const righting = (truth: string): string => `
  removed as (
    delete from queue q using mine
    where ${sameRow('q', 'mine')} and not exists (select from ${truth} t where ${sameRow('t', 'mine')})
  ), righted as (
    update queue q set due_at = t.due_at, holder = t.holder, at_work = t.at_work, runtime = t.runtime
    from mine join ${truth} t on ${sameRow('t', 'mine')} where ${sameRow('q', 'mine')} and not (${sameWords('mine', 't')})
  )
  insert into queue (${queueColumns})
  select ${queueColumns} from truth t where not exists (select from seen s where ${sameRow('s', 't')})
  on conflict do nothing`

/** SQL: a CTE that locks the rows of a table that rows of `mine` are about, and gives them as they are then. */
const locked = (table: string, same: string, before?: string): string => `, now_${table} as materialized (
    select r.* from (select * from mine order by organization_id, session_id, work, id) w
    join ${table} r on r.organization_id = w.organization_id and r.session_id = w.session_id and ${same}
    ${before === undefined ? '' : `where (select count(*) from now_${before}) >= 0`}
    for no key update of r
  )`

const now = (table: string) => `now_${table}`

const texts = {
  fenced: {
    own: `${comparing('fenced', fencedTruth, one)}${wrongUnlocked}, ${righting('truth')}`,
    others: `${comparing('fenced', fencedTruth, many)}${allOfThem}
      ${locked('executions', "w.work in ('run', 'workspace')")}
      ${locked('runs', "w.work = 'run' and r.id = w.id", 'executions')}
      ${locked('workspace_requests', "w.work = 'workspace'", 'runs')},
      true_now as (${fencedTruth(() => '', now)}), ${righting('true_now')}`,
  },
  timed: {
    own: `${comparing('timed', timedTruth, one)}${wrongUnlocked}, ${righting('truth')}`,
    others: `${comparing('timed', timedTruth, many)}${allOfThem}
      ${Object.entries(queuedTables)
        .map(([work, { table, id }]) => locked(table, `w.work = '${work}' and w.id = ${id('r')}`))
        .join('')},
      true_now as (${timedTruth(() => '', now)}), ${righting('true_now')}`,
  },
} as const

/**
 * Makes the queue agree with the tables of a Session's Run and workspace. A transaction calls it after its own
 * changes, under the Session's lock and in the same flight.
 *
 * A row is written only if it is as this statement first saw it. Whoever changed it since has seen more.
 */
export async function alignQueue(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({ name: 'align-fenced', text: texts.fenced.own, values: [key.organizationId, key.sessionId] })
}

/**
 * Makes the queue agree with the tables of the work of Sessions, for somebody who holds none of them: a claim that could not
 * take a row's work, or a chore. It waits for whoever is changing the work, and sees the
 * change: that one has passed over the row of the queue that is locked here.
 *
 * The statement has no name, so PostgreSQL plans it for the Sessions at hand. It would keep the plan of a named one that it
 * met with a few Sessions at a time, which compares each with each: 20 000 took more than 10 s, against 0.5 s.
 */
export async function rightQueue(db: Queryable, kind: keyof typeof texts, keys: readonly SessionKey[]): Promise<void> {
  if (keys.length === 0) return
  await db.query({ text: texts[kind].others, values: columnsOf(keys) })
}

/** Takes the rows of a Session that is no more out of the queue. */
export async function emptyQueue(tx: Queryable, key: SessionKey): Promise<void> {
  for (const kind of ['fenced', 'timed'] as const)
    await tx.query({ name: `align-${kind}`, text: texts[kind].own, values: [key.organizationId, key.sessionId] })
}

const columnsOf = (keys: readonly SessionKey[]) => [
  keys.map(({ organizationId }) => organizationId),
  keys.map(({ sessionId }) => sessionId),
]

/**
 * SQL: a statement that writes rows of work that is claimed for a time, and their rows of the queue.
 * @param writing the statement; it ends before `returning`, and `r` is its table
 * @param columns of `r` that the whole gives
 */
export const writingQueued = (work: TimedWork, writing: string, columns = 'r.*'): string => {
  const { id, open, due } = queuedTables[work]
  const isOpen = /^\s*delete\b/.test(writing) ? 'false' : open('r')
  const isOfRow = (q: string) =>
    `${q}.organization_id = r.organization_id and ${q}.session_id = r.session_id and ${q}.work = '${work}'
      and ${q}.id = ${id('r')}`
  return `
  with r as (${writing} returning r.*
  ), mine as (
    select q.organization_id, q.session_id, q.work, q.id from r join queue q on ${isOfRow('q')} for update of q skip locked
  ), removed as (
    delete from queue q using mine, r where ${sameRow('q', 'mine')} and ${isOfRow('mine')} and not (${isOpen})
  ), righted as (
    update queue q set due_at = ${due('r')} from mine join r on ${isOfRow('mine')}
    where ${sameRow('q', 'mine')} and ${isOpen}
  ), added as (
    insert into queue (organization_id, session_id, work, id, due_at)
    select r.organization_id, r.session_id, '${work}', ${id('r')}, ${due('r')} from r
    where ${isOpen} and not exists (select from queue q where ${isOfRow('q')})
    on conflict do nothing
  )
  select ${columns} from r`
}

/** SQL: says in the queue how the rows of a CTE stand that a claim took. */
export const claimedQueued = (work: TimedWork, taken: string): string => {
  const { id, due } = queuedTables[work]
  return `
    update queue q set due_at = ${due(taken)} from ${taken}
    where q.organization_id = ${taken}.organization_id and q.session_id = ${taken}.session_id and q.work = '${work}'
      and q.id = ${id(taken)}`
}

/**
 * Returns Sessions of which the queue says something else than the tables of their work, at most this many. There are none, but
 * for moments in which a claim is under way, unless something wrote to those tables that does not know the queue.
 */
export async function findMisaligned(db: Queryable, most: number): Promise<readonly SessionKey[]> {
  const { rows } = await db.query<{ organization_id: string; session_id: string }>({
    name: 'find-misaligned',
    text: `
      with truth as materialized (${fencedTruth(() => '')} union all ${timedTruth(() => '')}
      ), found as (
        (table truth except select ${queueColumns} from queue)
        union all
        (select ${queueColumns} from queue except table truth)
      )
      select distinct organization_id, session_id from found limit $1`,
    values: [most],
  })
  return rows.map(({ organization_id: organizationId, session_id: sessionId }) => ({ organizationId, sessionId }))
}
