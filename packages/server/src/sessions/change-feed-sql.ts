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

/** Where those of the named Sessions stand that the owner has. */
export async function changesOf(db: Queryable, owner: Owner, ids: readonly string[]): Promise<Change[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<Change>({
    name: 'changes-of',
    text: `
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and id = any($3::uuid[])
      order by updated_at, id`,
    values: [owner.organizationId, owner.ownerId, ids],
  })
  return rows
}

/** The owner's Sessions that changed since a time, on `sessions_of_owner` and `sessions_archived`. */
export async function changesSince(db: Queryable, owner: Owner, since: Date, limit: number): Promise<Change[]> {
  const { rows } = await db.query<Change>({
    name: 'changes-since',
    text: `
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and listed_at >= ${listedAt('$3')} and updated_at >= $3
        and archived_at is null
      union all
      select id, last_event_sequence, updated_at, xmin::text as version from sessions
      where organization_id = $1 and owner_id = $2 and listed_at >= ${listedAt('$3')} and updated_at >= $3
        and archived_at is not null
      order by updated_at, id limit $4`,
    values: [owner.organizationId, owner.ownerId, since, limit],
  })
  return rows
}
