import { claimedQueued, rightQueue, writingQueued } from '../queue/queue-sql.ts'
import { queuedTables, type TimedWork } from '../queue/truth-sql.ts'
import type { Queryable } from '../storage/postgres/database.ts'

/**
 * A table whose rows are work. It has the columns `claim` (a unique token), `claimed_until`, and, if its rows can be
 * deferred, `due_at` and `failures`. All of this is constant text of the code, never input: names are checked, conditions
 * are trusted.
 */
interface WorkTable {
  readonly table: string
  /** A condition on `r`, true for a row that needs work. `$1` is the time; the caller's own values begin at `$4`. */
  readonly due: string
  /** The most rows that a claim takes, as an expression; absent: `$3`, the limit of the caller. */
  readonly most?: string
  /** Assignments that a claim makes as well. */
  readonly also?: string
  /** A join to `r`, and the expressions that a claim takes from it, by name. */
  readonly join?: { readonly clause: string; readonly columns: Readonly<Record<string, string>> }
}

/** Work of Sessions stands in the queue, in the order in which it is due, and claims lock rows of the queue alone. */
interface QueuedTable extends WorkTable {
  readonly queue: TimedWork
}

/** Work that belongs to no Session: claims lock its own rows. */
interface ApartTable extends WorkTable {
  readonly queue?: undefined
  /** Columns of the primary key. */
  readonly key: readonly string[]
  /** The columns of `r` that order the claims; absent: any order. */
  readonly order?: readonly string[]
}

/** The columns that a claim adds to a row. */
interface Claimed {
  readonly organization_id: string
  readonly session_id: string
  readonly claim: string
}

/**
 * The statements by which workers share the rows of a table. A worker claims a row for a time, renews the claim while it
 * works, and releases it with the outcome. A claim that is not renewed lapses, and another worker's claim replaces the
 * token. Every write proves the token, so a worker that lost its claim changes nothing. A row that needs no more work
 * has no claim.
 */
export class ClaimedRows<Row extends object> {
  readonly #table: string
  readonly #queue: TimedWork | undefined
  readonly #claim: string

  constructor(of: QueuedTable | ApartTable) {
    this.#table = name(of.table)
    this.#queue = of.queue
    this.#claim = of.queue === undefined ? claimStatement(of) : claimFromQueue(of)
  }

  /**
   * Claims rows that are due and that nobody holds. Rows that another transaction locks are skipped.
   * @param values parameters of the table's own condition, from `$4` on
   */
  async claim<Joined extends object = object>(
    db: Queryable,
    by: { readonly now: Date; readonly until: Date },
    limit: number,
    values: readonly unknown[] = [],
  ): Promise<(Row & Joined & Claimed)[]> {
    const statement = { name: `claim-${this.#table}`, text: this.#claim, values: [by.now, by.until, limit, ...values] }
    if (this.#queue === undefined) return (await db.query<Row & Joined & Claimed>(statement)).rows
    const { rows } = await db.query<Row & Joined & Claimed & { passed: Passed }>(statement)
    const passed = rows[0]?.passed ?? []
    await rightQueue(
      db,
      'timed',
      passed.map(([organizationId, sessionId]) => ({ organizationId, sessionId })),
    )
    return rows
      .filter(row => row.claim !== null)
      .map(({ passed: _, ...row }) => row as unknown as Row & Joined & Claimed)
  }

  /** SQL: writes rows and gives one of their columns, or all. */
  #writing(assignments: string, column = '*'): string {
    return this.#queue === undefined
      ? `update ${this.#table} ${assignments} returning ${column}`
      : writingQueued(this.#queue, `update ${this.#table} r ${assignments}`, `r.${column}`)
  }

  /** Renews a claim; false if another worker has replaced it, or the row has ended. */
  async renew(db: Queryable, claim: string, until: Date): Promise<boolean> {
    const { rowCount } = await db.query({
      text: this.#writing('set claimed_until = $2 where claim = $1', 'claim'),
      values: [claim, until],
    })
    return rowCount > 0
  }

  /** Renews claims, and returns those that are still held. */
  async renewAll(db: Queryable, claims: readonly string[], until: Date): Promise<ReadonlySet<string>> {
    const { rows } = await db.query<{ claim: string }>({
      name: `renew-${this.#table}`,
      text: this.#writing('set claimed_until = $2 where claim = any($1::uuid[])', 'claim'),
      values: [claims, until],
    })
    return new Set(rows.map(({ claim }) => claim))
  }

  /** Counts a failure, and releases the row until it is due again. */
  async defer(db: Queryable, claim: string, dueAt: Date): Promise<void> {
    await db.query({
      text: this.#writing(
        'set due_at = $2, failures = failures + 1, claim = null, claimed_until = null where claim = $1',
        'due_at',
      ),
      values: [claim, dueAt],
    })
  }

  /**
   * Writes columns and releases the row in one statement.
   * @returns the row; null if the claim is lost
   */
  async release(db: Queryable, claim: string, columns: Partial<Row>): Promise<Row | null> {
    const written = Object.keys(columns).map((column, index) => `${name(column)} = $${index + 2}`)
    const { rows } = await db.query<Row>({
      text: this.#writing(`set ${written.join(', ')}, claim = null, claimed_until = null where claim = $1`),
      values: [claim, ...Object.values(columns)],
    })
    return rows[0] ?? null
  }
}

function claimStatement({ table, key, due, order, most = '$3', also, join }: ApartTable): string {
  const keys = key.map(name)
  const joined = Object.entries(join?.columns ?? {})
  const taken = [...keys.map(column => `r.${column}`), ...joined.map(([as, from]) => `${from} as ${name(as)}`)]
  return `
    update ${table} r set claim = gen_random_uuid(), claimed_until = $2${also === undefined ? '' : `, ${also}`}
    from (
      select ${taken.join(', ')} from ${table} r ${join?.clause ?? ''}
      where ${due} and (r.claimed_until is null or r.claimed_until < $1)
      ${order === undefined ? '' : `order by ${order.map(column => `r.${name(column)}`).join(', ')}`}
      limit ${most} for update of r skip locked
    ) next
    where (${keys.map(column => `r.${column}`).join(', ')}) = (${keys.map(column => `next.${column}`).join(', ')})
    returning ${['r.*', ...joined.map(([as]) => `next.${as}`)].join(', ')}`
}

/** So many rows beyond its limit a claim looks at, since others may have locked the first ones. */
const OTHERS = 64

/** Sessions of rows that a claim locked in the queue and could not take. */
type Passed = readonly (readonly [organizationId: string, sessionId: string])[]

/**
 * The claim locks rows of `queue` alone, by their keys (execution/claim/claim-parts.ts says why). Then it takes the work by
 * its key, if it still waits: whoever writes that work passes over the locked row of the queue, so nobody waits for a claim
 * that waits for it.
 */
function claimFromQueue({ table, queue: work, due, most = '$3', also, join }: QueuedTable): string {
  const { id, open, due: dueAt } = queuedTables[work]
  const joined = Object.entries(join?.columns ?? {})
  const isUnclaimed = '(r.claimed_until is null or r.claimed_until < $1)'
  return `
    with found as materialized (
      select ${['q.organization_id', 'q.session_id', 'q.id', 'q.due_at', ...joined.map(([as, from]) => `${from} as ${name(as)}`)].join(', ')}
      from queue q
      join ${table} r on r.organization_id = q.organization_id and r.session_id = q.session_id and ${id('r')} = q.id
      ${join?.clause ?? ''}
      where q.work = '${work}' and q.holder is null and q.due_at <= $1 and ${due} and ${isUnclaimed}
      order by q.due_at limit ${most} + ${OTHERS}
    ), picked as (
      select found.* from found
      join queue q on q.organization_id = found.organization_id and q.session_id = found.session_id
        and q.work = '${work}' and q.id = found.id
      order by found.due_at limit ${most} for update of q skip locked
    ), taken as (
      update ${table} r set claim = gen_random_uuid(), claimed_until = $2${also === undefined ? '' : `, ${also}`}
      from picked next
      where r.organization_id = next.organization_id and r.session_id = next.session_id and ${id('r')} = next.id
        and ${open('r')} and ${dueAt('r')} <= $1 and ${isUnclaimed}
      returning ${['r.*', ...joined.map(([as]) => `next.${name(as)}`)].join(', ')}
    ), held as (${claimedQueued(work, 'taken')})
    select passed.*, taken.* from (
      select coalesce(jsonb_agg(jsonb_build_array(p.organization_id, p.session_id)), '[]') as passed from picked p
      where not exists (
        select from taken
        where taken.organization_id = p.organization_id and taken.session_id = p.session_id and ${id('taken')} = p.id)
    ) as passed left join taken on true`
}

/**
 * Returns a name that needs no quotes.
 * @throws Error for any other name, which could not come from this code
 */
function name(text: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(text)) throw new Error(`${text} is not the name of a table or a column`)
  return text
}
