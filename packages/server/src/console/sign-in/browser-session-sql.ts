import type { BrowserSession, Permission, Role } from '@berth/contract'
import { type Queryable, queryChanged, queryOne, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/** A session to be made. */
export interface NewBrowserSession {
  readonly id: string
  readonly digest: Buffer
  readonly personId: string
  readonly signInId: string
  readonly endsAt: Date
  readonly signedInAt: Date
  readonly agent: string | null
  readonly address: string
}

/**
 * Adds a session.
 * @returns false if the sign-in is not the person's, or has ended
 */
export async function insertBrowserSession(tx: Queryable, session: NewBrowserSession, now: Date): Promise<boolean> {
  const { id, digest, personId, signInId, endsAt, signedInAt, agent, address } = session
  return await queryChanged(tx, {
    name: 'insert-console-session',
    text: `
      insert into console_sessions
        (id, digest, person_id, sign_in_id, created_at, seen_at, expires_at, signed_in_at, agent, address)
      select $1, $2, s.person_id, s.id, $5, $5, $6, $7, $8, $9
      from sign_ins s where s.id = $4 and s.person_id = $3 and s.ended_at is null`,
    values: [id, digest, personId, signInId, now, endsAt, signedInAt, agent, address],
  })
}

/** Deletes a session. @returns its sign-in; null if the person has no such session */
export async function deleteBrowserSession(tx: Queryable, personId: string, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ sign_in_id: string }>({
    name: 'delete-console-session',
    text: 'delete from console_sessions where person_id = $1 and id = $2 returning sign_in_id',
    values: [personId, id],
  })
  return rows[0]?.sign_in_id ?? null
}

interface SessionRow {
  readonly id: string
  readonly created_at: Date
  readonly seen_at: Date
  readonly expires_at: Date
  readonly agent: string | null
  readonly address: string | null
}

/** Lists the live sessions of a person, last used first. @param idleSince sessions last used before it have ended */
export async function listBrowserSessions(
  db: Queryable,
  personId: string,
  now: Date,
  idleSince: Date,
  currentId: string,
): Promise<BrowserSession[]> {
  const { rows } = await db.query<SessionRow>({
    name: 'list-console-sessions',
    text: `
      select c.id, c.created_at, c.seen_at, c.expires_at, c.agent, c.address
      from console_sessions c join sign_ins s on s.id = c.sign_in_id
      where c.person_id = $1 and c.expires_at > $2 and c.seen_at > $3 and s.ended_at is null
      order by c.seen_at desc, c.id limit 100`,
    values: [personId, now, idleSince],
  })
  return rows.map(row => ({
    id: row.id,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.seen_at.toISOString(),
    endsAt: row.expires_at.toISOString(),
    address: row.address,
    agent: row.agent,
    current: row.id === currentId,
  }))
}

/** Who is signed in by a session, and where they are a member. */
export interface BrowserIdentity {
  readonly name: string
  readonly email: string
  readonly created_at: Date
  readonly seen_at: Date
  readonly membership_id: string
  readonly memberships: readonly MembershipRow[]
}

/** A live membership of the person of a session. */
interface MembershipRow {
  readonly id: string
  readonly organization_id: string
  readonly organization: string
  readonly cloud_access: boolean
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Reads who is signed in by a session, and where they are a member, the last used membership first. */
export async function readIdentity(db: Queryable, sessionId: string): Promise<BrowserIdentity> {
  return await queryOne<BrowserIdentity>(db, {
    name: 'read-console-identity',
    text: `
      select p.name, p.email, c.created_at, c.seen_at, s.membership_id,
        (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'organization_id', m.organization_id,
                  'organization', o.name, 'cloud_access', o.cloud_access, 'role', m.role, 'permissions', m.permissions)
                order by m.last_used_at desc nulls last, m.created_at, m.id), '[]')
         from memberships m join organizations o on o.id = m.organization_id
         where m.person_id = p.id and m.revoked_at is null and o.suspended_at is null) as memberships
      from console_sessions c join people p on p.id = c.person_id join sign_ins s on s.id = c.sign_in_id
      where c.id = $1`,
    values: [sessionId],
  })
}

/** Reads when a session was made and last used; null if it is no more. */
export async function readBrowserTimes(
  db: Queryable,
  sessionId: string,
): Promise<Pick<BrowserIdentity, 'created_at' | 'seen_at'> | null> {
  return await queryRow<{ created_at: Date; seen_at: Date }>(db, {
    name: 'read-console-times',
    text: 'select created_at, seen_at from console_sessions where id = $1',
    values: [sessionId],
  })
}

/** Deletes sessions that have ended by themselves. @returns how many there were */
export const forgetBrowserSessions = (
  db: Queryable,
  now: Date,
  idleSince: Date,
  signal: AbortSignal,
): Promise<number> =>
  deleteInBatches(
    db,
    {
      table: 'console_sessions',
      join: 'join sign_ins s on s.id = r.sign_in_id',
      where: 'r.expires_at <= $1 or r.seen_at <= $2 or s.ended_at is not null',
      values: [now, idleSince],
    },
    signal,
  )
