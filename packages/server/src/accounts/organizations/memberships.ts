import { randomUUID } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import type { Queryable } from '../../storage/postgres/database.ts'

/** A membership to be made. */
export interface NewMembership {
  readonly organizationId: string
  readonly personId: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Makes a person a member. @returns the membership's id; null if they are a member already, which changes nothing */
export async function insertMembership(
  tx: Queryable,
  { organizationId, personId, role, permissions }: NewMembership,
  now: Date,
): Promise<string | null> {
  const id = randomUUID()
  const { rowCount } = await tx.query(
    `insert into memberships (id, organization_id, person_id, role, permissions, created_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (organization_id, person_id) where revoked_at is null do nothing`,
    [id, organizationId, personId, role, permissions, now],
  )
  return rowCount === 1 ? id : null
}

/** Returns the organizations that a person is a live member of. */
export async function liveOrganizationsOf(db: Queryable, personId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ organization_id: string }>(
    'select organization_id from memberships where person_id = $1 and revoked_at is null order by created_at',
    [personId],
  )
  return rows.map(row => row.organization_id)
}
