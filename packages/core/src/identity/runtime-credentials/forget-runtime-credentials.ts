import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/**
 * Removes the credentials of ended Runs, which no longer grant anything.
 *
 * @returns the number of removed credentials
 */
export const forgetRuntimeCredentials = (db: Queryable, signal: AbortSignal): Promise<number> =>
  deleteInBatches(
    db,
    {
      table: 'runtime_credentials',
      join: 'join runs u on (u.organization_id, u.session_id, u.id) = (r.organization_id, r.session_id, r.run_id)',
      where: 'u.ended_at is not null',
      values: [],
    },
    signal,
  )
