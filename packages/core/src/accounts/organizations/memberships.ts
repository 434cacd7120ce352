import { randomUUID } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { endResets } from '../links/one-time-link.ts'

/** A membership to be made. */
export interface NewMembership {
  readonly organizationId: string
  readonly personId: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/**
 * Makes a person a member. Links that would reset them end: an administrator who holds one may not take over the account
 * of a person who has joined another organization since.
 *
 * @returns the membership's id; null if they are a member already, which changes nothing
 */
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
  if (rowCount === 0) return null
  await endResets(tx, personId, now)
  return id
}

/** The memberships that a person has or had, as seen from an organization that they may join. */
export interface MembershipsBefore {
  readonly isMember: boolean
  /** Memberships of other organizations, ended ones included. */
  readonly elsewhere: number
  readonly liveElsewhere: number
}

/** Counts the memberships of a person besides those of one organization. */
export async function membershipsBefore(
  db: Queryable,
  personId: string,
  organizationId: string,
): Promise<MembershipsBefore> {
  const { rows } = await db.query<{ organization_id: string; live: boolean }>(
    'select organization_id, revoked_at is null as live from memberships where person_id = $1',
    [personId],
  )
  const elsewhere = rows.filter(row => row.organization_id !== organizationId)
  return {
    isMember: rows.some(row => row.organization_id === organizationId && row.live),
    elsewhere: elsewhere.length,
    liveElsewhere: elsewhere.filter(row => row.live).length,
  }
}

/** Returns the organizations that a person is a live member of. */
export async function liveOrganizationsOf(db: Queryable, personId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ organization_id: string }>(
    'select organization_id from memberships where person_id = $1 and revoked_at is null order by created_at',
    [personId],
  )
  return rows.map(row => row.organization_id)
}

/** A live member of an organization. */
export interface Member {
  readonly id: string
  readonly personId: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly permissions: readonly Permission[]
  readonly createdAt: Date
  readonly disabled: boolean
}

interface MemberRow {
  readonly id: string
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly permissions: readonly Permission[]
  readonly created_at: Date
  readonly disabled_at: Date | null
}

/** Lists live members by name. @param membershipId only this one */
export async function listMembers(
  db: Queryable,
  organizationId: string,
  membershipId: string | null = null,
): Promise<readonly Member[]> {
  const { rows } = await db.query<MemberRow>(
    `select m.id, m.person_id, p.name, p.email, m.role, m.permissions, m.created_at, p.disabled_at
     from memberships m join people p on p.id = m.person_id
     where m.organization_id = $1 and m.revoked_at is null and ($2::uuid is null or m.id = $2)
     order by lower(p.name), m.id`,
    [organizationId, membershipId],
  )
  return rows.map(row => ({
    id: row.id,
    personId: row.person_id,
    name: row.name,
    email: row.email,
    role: row.role,
    permissions: row.permissions,
    createdAt: row.created_at,
    disabled: row.disabled_at !== null,
  }))
}

/**
 * Makes sure that an organization keeps an administrator besides a person. Locks the organization, so that two
 * administrators cannot remove each other at the same moment.
 *
 * @throws ApiError 409 `last_administrator`
 */
export async function requireAnotherAdministrator(
  tx: Queryable,
  organizationId: string,
  personId: string,
): Promise<void> {
  await lockMembers(tx, organizationId)
  const { rows } = await tx.query(
    `select 1 from memberships m join people p on p.id = m.person_id
     where m.organization_id = $1 and m.role = 'admin' and m.revoked_at is null and p.disabled_at is null
       and p.id <> $2 limit 1`,
    [organizationId, personId],
  )
  if (rows.length === 0) throw refusal('last_administrator')
}

/** Locks the members of an organization; everyone who changes roles takes this lock before reading them. */
export async function lockMembers(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query('select 1 from organizations where id = $1 for no key update', [organizationId])
}

/** Returns the organization of a live membership; null if there is none with this id. */
export async function findOrganizationOf(db: Queryable, membershipId: string): Promise<string | null> {
  if (!isUuid(membershipId)) return null
  const { rows } = await db.query<{ organization_id: string }>(
    'select organization_id from memberships where id = $1 and revoked_at is null',
    [membershipId],
  )
  return rows[0]?.organization_id ?? null
}
