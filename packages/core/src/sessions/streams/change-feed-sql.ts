import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** A change of a Session, with the Session's state after it. */
export interface Change {
  readonly id: string
  readonly last_event_sequence: number
  readonly updated_at: Date
  /** Full number of the transaction that wrote the row. */
  readonly position: bigint
}

/** Whose Sessions a feed is of; without an owner, it is of all of the organization's. */
export interface Owner {
  readonly organizationId: string
  readonly ownerId: string | null
}

/** The transactions that were committed at one moment, to tell later ones from them. */
export interface Snapshot {
  /** Every transaction with a smaller number has ended. */
  readonly horizon: bigint
  /** PostgreSQL's own text form of the snapshot. */
  readonly text: string
}

interface SnapshotRow {
  readonly horizon: string
  readonly snapshot: string
}

const selectSnapshot = `
  pg_snapshot_xmin(pg_current_snapshot())::text as horizon, pg_current_snapshot()::text as snapshot`

const toSnapshot = (row: SnapshotRow | undefined): Snapshot => {
  if (row === undefined) throw new Error('a snapshot is missing')
  return { horizon: BigInt(row.horizon), text: row.snapshot }
}

/** Takes a snapshot of the transactions committed by now. */
export async function takeSnapshot(db: Queryable): Promise<Snapshot> {
  const { rows } = await db.query<SnapshotRow>({ name: 'take-snapshot', text: `select ${selectSnapshot}` })
  return toSnapshot(rows[0])
}

/**
 * SQL of the full number of the transaction that wrote a row. The row stores only the lower 32 bits. The upper ones
 * come from the snapshot: the number nearest to it is meant.
 */
const position = `
  greatest(3, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 2147483648 + ((s.xmin::text::bigint
    - pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 2147483648) & 4294967295))`

/**
 * Returns SQL that is true if a row was committed after a snapshot; it is true of every row if the snapshot is null.
 */
const isBehind = (snapshot: string) =>
  `(${snapshot}::text is null or not pg_visible_in_snapshot((${position})::text::xid8, ${snapshot}::pg_snapshot))`

interface ChangeRow extends Omit<Change, 'position'>, SnapshotRow {
  readonly position: string
}

/** Changes in the order in which a reader is told them, and the snapshot in which they were read. */
export interface Changes {
  readonly changes: readonly Change[]
  readonly read: Snapshot
}

/**
 * Reads the owner's Sessions that changed after the snapshot `begun`, in a transaction from `from` on, on
 * `sessions_moved`. With `ids` it reads these alone, on the primary key. One statement reads rows and snapshot, so a
 * change that it does not see has a position at or above the snapshot's horizon.
 */
export async function readChanges(
  db: Queryable,
  owner: Owner,
  by: { readonly from: bigint; readonly begun: Snapshot | null; readonly ids: readonly string[] | null },
  limit: number,
): Promise<Changes> {
  const which = by.ids === null ? 's.moved_in >= $4::bigint >> 12' : 's.id = any($6::uuid[])'
  // Two statements each, so that the one of an owner keeps to the index that begins with both.
  const [kind, owned] = owner.ownerId === null ? ['-any', '$2::uuid is null'] : ['', 's.owner_id = $2']
  const { rows } = await db.query<ChangeRow>({
    name: `${by.ids === null ? 'changes-since' : 'changes-of'}${kind}`,
    text: `
      select at.horizon, at.snapshot, c.* from (select ${selectSnapshot}) at left join lateral (
        select s.id, s.last_event_sequence, s.updated_at, (${position})::text as position from sessions s
        where s.organization_id = $1 and not s.is_trial and ${owned} and ${which} and ${position} >= $4::bigint and ${isBehind('$5')}
        order by s.updated_at, s.id limit $3
      ) c on true`,
    values: [
      owner.organizationId,
      owner.ownerId,
      limit,
      String(by.from),
      by.begun?.text ?? null,
      ...(by.ids === null ? [] : [by.ids]),
    ],
  })
  const changes = rows.flatMap(({ id, last_event_sequence, updated_at, position: at }) =>
    id === null ? [] : [{ id, last_event_sequence, updated_at, position: BigInt(at) }],
  )
  return { changes, read: toSnapshot(rows[0]) }
}
