import type { Invitation, Permission, Role } from '@berth/contract'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import type { By } from '../organizations/change-member.ts'

/** Lists the invitations that still work, newest first. @param email only those of this email */
export async function listInvitations(
  db: Queryable,
  organizationId: string,
  now: Date,
  email: string | null = null,
): Promise<Invitation[]> {
  const { rows } = await db.query<{
    id: string
    email: string
    role: Role
    permissions: Permission[]
    created_at: Date
    expires_at: Date
  }>(
    `select encode(digest, 'hex') as id, email, role, permissions, created_at, expires_at from one_time_links
     where kind = 'invitation' and organization_id = $1 and used_at is null and expires_at > $2
       and ($3::text is null or lower(email) = lower($3))
     order by created_at desc, digest`,
    [organizationId, now, email],
  )
  return rows.map(({ created_at, expires_at, ...row }) => ({
    ...row,
    createdAt: created_at.toISOString(),
    expiresAt: expires_at.toISOString(),
  }))
}

/** Makes an invitation's link stop working. Changes nothing if it has stopped already. */
export function withdrawInvitation(
  db: Database,
  { organizationId, invitationId }: { readonly organizationId: string; readonly invitationId: string },
  { actor, address, now }: By,
): Promise<void> {
  return db.transaction(async tx => {
    const { rowCount } = await tx.query(
      `update one_time_links set used_at = $3
       where kind = 'invitation' and organization_id = $1 and digest = decode($2, 'hex') and used_at is null`,
      [organizationId, invitationId, now],
    )
    if (rowCount === 0) return
    const from = address === undefined ? {} : { address }
    await appendAudit(tx, { organizationId, actor, action: 'invitation.withdrawn', ...from, outcome: 'done' }, now)
  })
}
