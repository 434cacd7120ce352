import { type Queryable, queryChanged, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** A membership that a sign-in may be for. */
export interface MembershipToChoose {
  readonly id: string
  readonly organization_id: string
  readonly organization: string
  readonly role: string
}

/** What a live sign-in stands for. */
export interface LiveSignIn {
  readonly membership_id: string
  readonly organization_id: string
  readonly client_id: string
  /** Whether the organization has product access. */
  readonly cloud_access: boolean
}

export interface NewSignIn {
  readonly id: string
  readonly personId: string
  /** When the session that approves it began, as in `readEnabledPerson`. */
  readonly began: number
  readonly membership: MembershipToChoose
  readonly clientId: string
  readonly address: string
  readonly userAgent: string | null
}

/**
 * Returns name and email of a person who may sign in; null if they are disabled or gone.
 * @param began the second in which the person's session began; null if the session has ended since
 */
export async function readEnabledPerson(
  db: Queryable,
  id: string,
  began: number,
): Promise<{ name: string; email: string } | null> {
  return await queryRow<{ name: string; email: string }>(db, {
    name: 'read-enabled-person',
    text: 'select name, email from people where id::text = $1 and disabled_at is null and sessions_since <= $2',
    values: [id, began],
  })
}

/** Stores another hash in place of a known one. @returns false if the password was changed meanwhile */
export async function replacePasswordHash(db: Queryable, id: string, before: string, after: string): Promise<boolean> {
  return await queryChanged(db, {
    name: 'replace-password-hash',
    text: 'update people set password_hash = $3 where id = $1 and password_hash = $2',
    values: [id, before, after],
  })
}

/** Returns the live memberships of a person, the last used first. */
export async function listMembershipsToChoose(db: Queryable, personId: string): Promise<MembershipToChoose[]> {
  return await queryRows<MembershipToChoose>(db, {
    name: 'list-memberships-to-choose',
    text: `
      select m.id, m.organization_id, o.name as organization, m.role
      from memberships m join organizations o on o.id = m.organization_id join people p on p.id = m.person_id
      where m.person_id = $1 and m.revoked_at is null and o.suspended_at is null and p.disabled_at is null
      order by m.last_used_at desc nulls last, m.created_at, m.id`,
    values: [personId],
  })
}

/**
 * Adds a sign-in. Its lock on the person excludes `endEverySession`: a session that ends at this moment either adds none,
 * or what it adds ends with it.
 * @returns false if the session has ended, or the person is disabled
 */
export async function insertSignIn(tx: Queryable, signIn: NewSignIn, now: Date): Promise<boolean> {
  const { id, personId, began, membership, clientId, address, userAgent } = signIn
  const { rowCount } = await tx.query({
    name: 'insert-sign-in',
    text: `
      insert into sign_ins
        (id, person_id, membership_id, organization_id, client_id, address, user_agent, created_at, last_used_at)
      select $1, p.id, $3, $4, $5, $6, $7, $8, $8
      from people p where p.id = $2 and p.disabled_at is null and p.sessions_since <= $9 for share of p`,
    values: [id, personId, membership.id, membership.organization_id, clientId, address, userAgent, now, began],
  })
  if (rowCount === 0) return false
  await tx.query({
    name: 'touch-membership',
    text: 'update memberships set last_used_at = $2 where id = $1',
    values: [membership.id, now],
  })
  return true
}

/** Returns what a sign-in stands for; null once it, its membership, person or organization has ended. */
export async function readLiveSignIn(db: Queryable, signInId: string): Promise<LiveSignIn | null> {
  return await queryRow<LiveSignIn>(db, {
    name: 'read-sign-in-standing',
    text: `
      select s.membership_id, s.organization_id, s.client_id, o.cloud_access
      from sign_ins s join memberships m on m.id = s.membership_id join people p on p.id = s.person_id
        join organizations o on o.id = s.organization_id
      where s.id::text = $1 and s.ended_at is null and m.revoked_at is null and p.disabled_at is null
        and o.suspended_at is null`,
    values: [signInId],
  })
}

export async function touchSignIn(db: Queryable, signInId: string, now: Date): Promise<void> {
  await db.query({
    name: 'touch-sign-in',
    text: 'update sign_ins set last_used_at = $2 where id::text = $1',
    values: [signInId, now],
  })
}

export async function endSignIn(db: Queryable, signInId: string, now: Date): Promise<void> {
  await db.query({
    name: 'end-sign-in',
    text: 'update sign_ins set ended_at = $2 where id::text = $1 and ended_at is null',
    values: [signInId, now],
  })
}
