import { type Queryable, queryChanged, queryRow, queryRows } from './database.ts'

/**
 * A table whose rows are work. It has the columns `claim` (a unique token), `claimed_until`, and, if its rows can be
 * deferred, `due_at` and `failures`. All of this is constant text of the code, never input: names are checked, conditions
 * are trusted.
 */
export interface ClaimedTable {
  readonly table: string
  /** Names the work, if the rows of the table are work of two kinds; absent: the table. */
  readonly work?: string
  /** Columns of the primary key. */
  readonly key: readonly string[]
  /** A condition on `r`, true for a row that needs work. `$1` is the time; the caller's own values begin at `$4`. */
  readonly due: string
  /** Orders the claims; absent: any order. */
  readonly order?: string
  /** The most rows that a claim takes, as an expression; absent: `$3`, the limit of the caller. */
  readonly most?: string
  /** Assignments that a claim makes as well. */
  readonly also?: string
  /** A join to `r`, and the expressions that a claim takes from it, by name. */
  readonly join?: { readonly clause: string; readonly columns: Readonly<Record<string, string>> }
}

/** A row with the token by which its holder proves a claim. */
interface Claimed {
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
  readonly #work: string
  readonly #claim: string

  constructor(of: ClaimedTable) {
    this.#table = name(of.table)
    this.#work = of.work ?? this.#table
    this.#claim = claimStatement(of)
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
    return await queryRows<Row & Joined & Claimed>(db, {
      name: `claim-${this.#work}`,
      text: this.#claim,
      values: [by.now, by.until, limit, ...values],
    })
  }

  /** Renews a claim; false if another worker has replaced it, or the row has ended. */
  async renew(db: Queryable, claim: string, until: Date): Promise<boolean> {
    return await queryChanged(db, {
      text: `update ${this.#table} set claimed_until = $2 where claim = $1`,
      values: [claim, until],
    })
  }

  /** Renews claims, and returns those that are still held. */
  async renewAll(db: Queryable, claims: readonly string[], until: Date): Promise<ReadonlySet<string>> {
    const { rows } = await db.query<{ claim: string }>({
      name: `renew-${this.#table}`,
      text: `update ${this.#table} set claimed_until = $2 where claim = any($1::uuid[]) returning claim`,
      values: [claims, until],
    })
    return new Set(rows.map(({ claim }) => claim))
  }

  /** Counts a failure, and releases the row until it is due again. */
  async defer(db: Queryable, claim: string, dueAt: Date): Promise<void> {
    await db.query({
      text: `
        update ${this.#table} set due_at = $2, failures = failures + 1, claim = null, claimed_until = null
        where claim = $1`,
      values: [claim, dueAt],
    })
  }

  /**
   * Writes columns and releases the row in one statement.
   * @returns the row; null if the claim is lost
   */
  async release(db: Queryable, claim: string, columns: Partial<Row>): Promise<Row | null> {
    const written = Object.keys(columns).map((column, index) => `${name(column)} = $${index + 2}, `)
    return await queryRow<Row>(db, {
      text: `
        update ${this.#table} set ${written.join('')}claim = null, claimed_until = null
        where claim = $1 returning *`,
      values: [claim, ...Object.values(columns)],
    })
  }
}

function claimStatement({ table, key, due, order, most = '$3', also, join }: ClaimedTable): string {
  const keys = key.map(name)
  const joined = Object.entries(join?.columns ?? {})
  const taken = [...keys.map(column => `r.${column}`), ...joined.map(([as, from]) => `${from} as ${name(as)}`)]
  return `
    update ${table} r set claim = gen_random_uuid(), claimed_until = $2${also === undefined ? '' : `, ${also}`}
    from (
      select ${taken.join(', ')} from ${table} r ${join?.clause ?? ''}
      where ${due} and (r.claimed_until is null or r.claimed_until < $1)
      ${order === undefined ? '' : `order by ${order}`}
      limit ${most} for update of r skip locked
    ) next
    where (${keys.map(column => `r.${column}`).join(', ')}) = (${keys.map(column => `next.${column}`).join(', ')})
    returning ${['r.*', ...joined.map(([as]) => `next.${as}`)].join(', ')}`
}

/**
 * Returns a name that needs no quotes.
 * @throws Error for any other name, which could not come from this code
 */
function name(text: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(text)) throw new Error(`${text} is not the name of a table or a column`)
  return text
}
