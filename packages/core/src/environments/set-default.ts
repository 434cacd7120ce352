import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { conflict } from './environment-conflict.ts'
import { type EnvironmentRow, findDefault, lockEnvironment, lockOrganization } from './environment-sql.ts'
import { authorOf, revise } from './revise.ts'

/**
 * Chooses the environment of people's new Sessions. A change writes a revision of the old default and of the new one.
 * @param chosen null: none
 * @throws ApiError 404, or 409 for an archived environment
 */
export async function setDefault(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  principal: Principal,
  chosen: string | null,
): Promise<EnvironmentRow | null> {
  const { organizationId } = principal
  const author = authorOf(principal)
  return await db.transaction(async tx => {
    await lockOrganization(tx, organizationId)
    const former = await findDefault(tx, organizationId)
    const next = chosen === null ? null : await requireLive(tx, organizationId, chosen)
    if (former === chosen) return next
    if (former !== null) {
      const key = { organizationId, environmentId: former }
      const row = await lockEnvironment(tx, key)
      if (row !== null) await revise(tx, key, row, { isDefault: false }, author, clock.now())
    }
    if (next === null) return null
    const key = { organizationId, environmentId: next.id }
    return await revise(tx, key, next, { isDefault: true }, author, clock.now())
  })
}

async function requireLive(tx: Queryable, organizationId: string, environmentId: string): Promise<EnvironmentRow> {
  const row = await lockEnvironment(tx, { organizationId, environmentId })
  if (row === null) throw refusal('environment_not_found')
  if (row.archived_at !== null) throw conflict('the environment is archived')
  return row
}
