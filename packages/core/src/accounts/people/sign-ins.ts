import type { SignIn } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

interface SignInRow {
  readonly id: string
  readonly organization_id: string
  readonly client_id: string
  readonly address: string | null
  readonly user_agent: string | null
  readonly created_at: Date
  readonly last_used_at: Date
}

/** Lists a person's sign-ins that have not ended, last used first. @param currentId the one of the request's token; null if it has none */
export async function listSignIns(db: Queryable, personId: string, currentId: string | null): Promise<SignIn[]> {
  const { rows } = await db.query<SignInRow>(
    `select s.id, s.organization_id, s.client_id, s.address, s.user_agent, s.created_at, s.last_used_at
     from sign_ins s join memberships m on m.id = s.membership_id
     where s.person_id = $1 and s.ended_at is null and m.revoked_at is null
     order by s.last_used_at desc, s.id`,
    [personId],
  )
  return rows.map(row => ({
    id: row.id,
    organizationId: row.organization_id,
    clientId: row.client_id,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    current: row.id === currentId,
  }))
}

/**
 * Ends a sign-in of a person.
 *
 * @returns null if the person has no such sign-in; `isNew` is false if it had ended already
 */
export async function endOwnSignIn(
  tx: Queryable,
  personId: string,
  signInId: string,
  now: Date,
): Promise<{ readonly organizationId: string; readonly isNew: boolean } | null> {
  const { rows } = await tx.query<{ organization_id: string; is_new: boolean }>(
    `update sign_ins s set ended_at = coalesce(s.ended_at, $3)
     from (select id, ended_at is null as is_new from sign_ins where id = $2 and person_id = $1 for update) before
     where s.id = before.id
     returning s.organization_id, before.is_new`,
    [personId, signInId, now],
  )
  const [row] = rows
  return row === undefined ? null : { organizationId: row.organization_id, isNew: row.is_new }
}
