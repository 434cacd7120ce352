import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import { type EnvironmentKey, lockEnvironment } from '../environment-sql.ts'

const DAY_MS = 24 * 60 * 60_000
/** A revision holds its archives for this long, and for as long as it is among the newest ones. */
const HELD_MS = 30 * DAY_MS
const HELD_REVISIONS = 50
/** An archive that no revision holds is kept this long, so that the upload can be followed by the document. */
const UNNAMED_MS = DAY_MS

/**
 * Removes archives that no revision has held for a day. A revision holds what it names for 30 days, while it is among the
 * newest 50, while it is the newest that a person wrote, and while a live sandbox is set up by it. The collector of blobs
 * takes the bytes later.
 * @returns the number of archives
 */
export async function letArchivesGo(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  for (const key of await listOwners(db)) {
    signal.throwIfAborted()
    removed += await db.transaction(async tx => {
      // A document that names an archive is written under the same lock.
      await lockEnvironment(tx, key)
      const now = clock.now()
      await markHeld(tx, key, now)
      return await deleteUnnamed(tx, key, new Date(now.getTime() - UNNAMED_MS))
    })
  }
  return removed
}

async function listOwners(db: Queryable): Promise<readonly EnvironmentKey[]> {
  const { rows } = await db.query<EnvironmentKey>(`
    select distinct organization_id as "organizationId", environment_id as "environmentId" from environment_archives`)
  return rows
}

/** Notes which archives a revision holds now, and since when none holds the others. */
async function markHeld(tx: Queryable, { organizationId, environmentId }: EnvironmentKey, now: Date): Promise<void> {
  await tx.query({
    text: `
      with revisions as (
        select revision, archives, created_at, max(revision) over () as newest,
          max(revision) filter (where created_by_kind = 'person') over () as newest_of_person
        from environment_revisions where organization_id = $1 and environment_id = $2
      ), held as (
        select distinct unnest(archives) as sha256 from revisions
        where created_at > $4 or revision > newest - ${HELD_REVISIONS} or revision = newest_of_person
          or revision in (
            select environment_revision from leases
            where organization_id = $1 and environment_id = $2 and ended_at is null)
      )
      update environment_archives a
      set unnamed_since = case when a.sha256 not in (select sha256 from held) then $3::timestamptz end
      where a.organization_id = $1 and a.environment_id = $2
        and (a.unnamed_since is null) = (a.sha256 not in (select sha256 from held))`,
    values: [organizationId, environmentId, now, new Date(now.getTime() - HELD_MS)],
  })
}

async function deleteUnnamed(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  before: Date,
): Promise<number> {
  const { rowCount } = await tx.query({
    text: `
      delete from environment_archives
      where organization_id = $1 and environment_id = $2 and unnamed_since <= $3`,
    values: [organizationId, environmentId, before],
  })
  return rowCount
}
