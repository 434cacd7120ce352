import { randomBytes } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const LIFE_MS = 24 * 60 * 60_000

/** A link as it is handed over; the database keeps only the digest of its secret. */
export interface IssuedLink {
  readonly secret: string
  readonly expiresAt: Date
}

/** Whom an invitation lets in, and as what. */
export interface Invited {
  readonly organizationId: string
  readonly email: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** What a link that still works is for. */
export type OneTimeLink = InvitationLink | ResetLink

interface Issued {
  readonly email: string
  /** An operator gave it, and so vouches for the email; otherwise an administrator did. */
  readonly byOperator: boolean
}
export type InvitationLink = Issued & Invited & { readonly kind: 'invitation'; readonly organization: string }
export type ResetLink = Issued & { readonly kind: 'reset'; readonly personId: string; readonly isFirst: boolean }

/** Returns the address that a person opens. */
export const linkUrl = (authUrl: string, { secret }: IssuedLink): string => `${authUrl}/links/${secret}`

/**
 * Issues an invitation that works once, for 24 hours. Earlier ones of this email and organization stop working.
 *
 * @param createdBy membership of the administrator; null for an operator
 */
export async function issueInvitation(
  tx: Queryable,
  { organizationId, email, role, permissions }: Invited,
  createdBy: string | null,
  now: Date,
): Promise<IssuedLink> {
  await withdrawInvitations(tx, organizationId, email, now)
  const secret = newSecret()
  const expiresAt = new Date(now.getTime() + LIFE_MS)
  await tx.query(
    `insert into one_time_links
       (digest, kind, organization_id, email, role, permissions, created_by, created_at, expires_at)
     values ($1, 'invitation', $2, $3, $4, $5, $6, $7, $8)`,
    [credentialDigest(secret), organizationId, email, role, permissions, createdBy, now, expiresAt],
  )
  return { secret, expiresAt }
}

/** Ends the open invitations of an email to an organization. @returns their number */
export async function withdrawInvitations(
  tx: Queryable,
  organizationId: string,
  email: string,
  now: Date,
): Promise<number> {
  const { rowCount } = await tx.query(
    `update one_time_links set used_at = $3
     where kind = 'invitation' and organization_id = $1 and lower(email) = lower($2) and used_at is null`,
    [organizationId, email, now],
  )
  return rowCount
}

/**
 * Issues a link that sets a person's password once, within 24 hours. Earlier ones stop working.
 *
 * @param createdBy membership of the administrator; null for an operator
 */
export async function issueReset(
  tx: Queryable,
  personId: string,
  createdBy: string | null,
  now: Date,
): Promise<IssuedLink> {
  await endResets(tx, personId, now)
  const secret = newSecret()
  const expiresAt = new Date(now.getTime() + LIFE_MS)
  await tx.query(
    `insert into one_time_links (digest, kind, person_id, created_by, created_at, expires_at)
     values ($1, 'reset', $2, $3, $4, $5)`,
    [credentialDigest(secret), personId, createdBy, now, expiresAt],
  )
  return { secret, expiresAt }
}

/** Makes the links that would reset a person stop working. */
export async function endResets(tx: Queryable, personId: string, now: Date): Promise<void> {
  await tx.query(`update one_time_links set used_at = $2 where kind = 'reset' and person_id = $1 and used_at is null`, [
    personId,
    now,
  ])
}

interface LinkRow {
  readonly kind: 'invitation' | 'reset'
  readonly organization_id: string | null
  readonly organization: string | null
  readonly email: string
  readonly role: Role
  readonly permissions: readonly Permission[]
  readonly person_id: string
  readonly is_first: boolean
  readonly by_operator: boolean
}

/** Reads a link by its secret; null if it never was, was used, has expired, or what it is for has ended. */
export async function findLink(db: Queryable, secret: string, now: Date): Promise<OneTimeLink | null> {
  const { rows } = await db.query<LinkRow>(
    `select l.kind, l.organization_id, o.name as organization, coalesce(p.email, l.email) as email, l.role,
            l.permissions, l.person_id, p.password_hash is null as is_first, l.created_by is null as by_operator
     from one_time_links l
       left join organizations o on o.id = l.organization_id
       left join people p on p.id = l.person_id
     where l.digest = $1 and l.used_at is null and l.expires_at > $2
       and p.disabled_at is null and o.suspended_at is null`,
    [credentialDigest(secret), now],
  )
  const [row] = rows
  if (row === undefined) return null
  const { organization_id: organizationId, organization, email, role, permissions, by_operator: byOperator } = row
  if (row.kind === 'reset') return { kind: 'reset', personId: row.person_id, email, byOperator, isFirst: row.is_first }
  if (organizationId === null || organization === null) throw new Error('an invitation to no organization')
  return { kind: 'invitation', organizationId, organization, email, role, permissions, byOperator }
}

/** Uses a link up. @returns false if somebody else was first; the caller then changes nothing */
export async function consumeLink(tx: Queryable, secret: string, now: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update one_time_links set used_at = $2 where digest = $1 and used_at is null and expires_at > $2',
    [credentialDigest(secret), now],
  )
  return rowCount === 1
}

const newSecret = (): string => randomBytes(32).toString('base64url')
