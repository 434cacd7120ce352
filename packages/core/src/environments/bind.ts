import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { conflict } from './environment-conflict.ts'
import { findDefault, findEnvironment } from './environment-sql.ts'

/**
 * Returns the environment that a Session is to be bound to.
 * @param wanted null: none; undefined: the organization's default for a person, none for an installation
 * @throws ApiError 403 `environment_forbidden` if an installation may not select environments
 * @throws ApiError 404 `environment_not_found`
 * @throws ApiError 409 `environment_conflict` if it is archived
 */
export async function environmentToBind(
  db: Queryable,
  principal: Principal,
  wanted: { readonly id: string } | null | undefined,
): Promise<string | null> {
  const { organizationId, kind } = principal
  if (wanted === null) return null
  if (wanted === undefined) return kind === 'person' ? await findDefault(db, organizationId) : null
  if (!maySelect(principal)) throw refusal('environment_forbidden')
  const found = await findEnvironment(db, { organizationId, environmentId: wanted.id })
  if (found === null) throw refusal('environment_not_found')
  if (found.archived_at !== null) throw conflict('the environment is archived')
  return found.id
}

/** People may select every environment of their organization. */
function maySelect({ kind, capabilities }: Principal): boolean {
  return kind === 'person' || capabilities.has('environments:manage') || capabilities.has('environments:use')
}
