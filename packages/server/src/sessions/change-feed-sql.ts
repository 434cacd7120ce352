import type { Queryable } from '../storage/database.ts'
import { listedAt } from './session-sql.ts'

/** That a Session changed, and where it stands. */
export interface Change {
  readonly id: string
  readonly last_event_sequence: number
  readonly updated_at: Date
  /**
   * Another one after every write of the row. Two changes may bear the same time, within a millisecond or from two
   * processes whose clocks differ.
   */
  readonly version: string
}

export interface Owner {
  readonly organizationId: string
  readonly ownerId: string
}

/** What is committed by now, to tell later what was not; PostgreSQL's own text for it. */
export async function takeSnapshot(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ snapshot: string }>({
    name: 'take-snapshot',
    text: 'select pg_current_snapshot()::text as snapshot',
  })
  return rows[0]?.snapshot ?? ''
}

/**
 * Whether a row's version was committed behind a snapshot; every one was behind none. A row bears the lower half of its
 * transaction's number, so the upper half is taken from the snapshot: the whole number nearest to it is meant.
 */
const isBehind = (snapshot: string) => `
  (${snapshot}::text is null or not pg_visible_in_snapshot(
    greatest(3, pg_snapshot_xmax(${snapshot}::pg_snapshot)::text::bigint - 2147483648 + ((xmin::text::bigint
      - pg_snapshot_xmax(${snapshot}::pg_snapshot)::text::bigint + 2147483648) & 4294967295))::text::xid8,
    ${snapshot}::pg_snapshot))`

/** Where those of the named Sessions stand that the owner has, where they moved behind the snapshot. */
export async function changesOf(
  db: Queryable,
  owner: Owner,
  ids: readonly string[],
  snapshot: string | null,
): Promise<Change[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<Change>({
    name: 'changes-of',
    text: `
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and id = any($3::uuid[]) and ${isBehind('$4')}
      order by updated_at, id`,
    values: [owner.organizationId, owner.ownerId, ids, snapshot],
  })
  return rows
}

/** The owner's Sessions that changed since a time and behind the snapshot, on `sessions_of_owner` and `sessions_archived`. */
export async function changesSince(
  db: Queryable,
  owner: Owner,
  since: Date,
  snapshot: string | null,
  limit: number,
): Promise<Change[]> {
  const { rows } = await db.query<Change>({
    name: 'changes-since',
    text: `
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and listed_at >= ${listedAt('$3')} and updated_at >= $3
        and archived_at is null and ${isBehind('$5')}
      union all
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and listed_at >= ${listedAt('$3')} and updated_at >= $3
        and archived_at is not null and ${isBehind('$5')}
      order by updated_at, id limit $4`,
    values: [owner.organizationId, owner.ownerId, since, limit, snapshot],
  })
  return rows
}
