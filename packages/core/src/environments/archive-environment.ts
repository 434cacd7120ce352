import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { conflict } from './environment-conflict.ts'
import { type EnvironmentKey, type EnvironmentRow, isNameTaken } from './environment-sql.ts'
import { requireRoom } from './put-environment.ts'
import { nameTaken, writeEnvironment } from './revise.ts'

type Dependencies = Pick<Context, 'db' | 'clock'>

/** Returns whether the caller asks again for a change that made the newest revision. */
const isRepeat = ({ revision }: EnvironmentRow, seen: number) => seen === revision || seen === revision - 1

/**
 * Archives an environment; Sessions that are bound to it stay bound.
 * @throws ApiError 404, 409 also for the default
 */
export async function archiveEnvironment(
  dependencies: Dependencies,
  principal: Principal,
  key: EnvironmentKey,
  seen: number,
): Promise<EnvironmentRow> {
  return await writeEnvironment(dependencies, principal, key, {
    seen,
    isDone: row => row.archived_at !== null && isRepeat(row, seen),
    decide: async (_, row, now) => {
      if (row.is_default) throw conflict('the environment is the default; choose another default first')
      return { archivedAt: now }
    },
  })
}

/**
 * Makes an archived environment live again.
 * @throws ApiError 404, 409 also if a live one has its name or the organization has no room
 */
export async function unarchiveEnvironment(
  dependencies: Dependencies,
  principal: Principal,
  key: EnvironmentKey,
  seen: number,
): Promise<EnvironmentRow> {
  return await writeEnvironment(dependencies, principal, key, {
    seen,
    isDone: row => row.archived_at === null && isRepeat(row, seen),
    unarchives: true,
    decide: async (tx, row) => {
      if (row.archived_at === null) throw conflict('the environment is not archived')
      if (await isNameTaken(tx, key, row.folded_name)) throw nameTaken()
      await requireRoom(tx, key.organizationId)
      return { archivedAt: null }
    },
    locksOrganization: true,
  })
}
