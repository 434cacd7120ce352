import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const AT_ONCE = 10_000

/**
 * Removes the credentials of ended Runs, which no longer grant anything.
 *
 * @returns the number of removed credentials
 */
export async function forgetRuntimeCredentials(db: Queryable, signal: AbortSignal): Promise<number> {
  for (let forgotten = 0; ; ) {
    signal.throwIfAborted()
    const { rowCount } = await db.query({
      text: `
        delete from runtime_credentials where token_sha256 = any (array(
          select c.token_sha256 from runtime_credentials c
          join runs r on (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.run_id)
          where r.ended_at is not null limit $1))`,
      values: [AT_ONCE],
    })
    forgotten += rowCount
    if (rowCount < AT_ONCE) return forgotten
  }
}
