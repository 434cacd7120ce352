import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** A local account. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly passwordHash: string | null
  readonly disabled: boolean
  /** An operator's link or a provider has proven that the email is theirs; otherwise an invitation alone says so. */
  readonly emailProven: boolean
  /** Sealed; null without a second factor. */
  readonly totpSecret: Buffer | null
  /** Sessions that began before it have ended, in seconds of the epoch. */
  readonly sessionsSince: number
}

interface PersonRow {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly password_hash: string | null
  readonly disabled_at: Date | null
  readonly email_proven_at: Date | null
  readonly totp_secret: Buffer | null
  readonly sessions_since: number
}

/**
 * Folds an email as `findPersonByEmail` compares it. JavaScript folds some characters otherwise than the database, so
 * whatever is kept by email asks here.
 */
export async function foldEmail(db: Queryable, email: string): Promise<string> {
  const { rows } = await db.query<{ folded: string }>({
    name: 'fold-email',
    text: 'select lower($1) as folded',
    values: [email],
  })
  return rows[0]?.folded ?? email
}

/** Finds a person by email, in whatever case it is written. */
export function findPersonByEmail(db: Queryable, email: string): Promise<Person | null> {
  return findPerson(db, 'lower(email) = lower($1)', email)
}

/**
 * Finds a person by email and locks them until the transaction ends: whoever gives the account a password, an identity or
 * a membership at the same moment waits.
 */
export async function lockPersonByEmail(tx: Queryable, email: string): Promise<Person | null> {
  await tx.query('select 1 from people where lower(email) = lower($1) for update', [email])
  return findPersonByEmail(tx, email)
}

/** Finds a person by id. */
export function findPersonById(db: Queryable, id: string): Promise<Person | null> {
  return findPerson(db, 'id = $1', id)
}

async function findPerson(
  db: Queryable,
  by: 'lower(email) = lower($1)' | 'id = $1',
  value: string,
): Promise<Person | null> {
  const row = await queryRow<PersonRow>(db, {
    name: by === 'id = $1' ? 'find-person-by-id' : 'find-person-by-email',
    text: `
      select id, email, name, password_hash, disabled_at, email_proven_at, totp_secret, sessions_since
      from people where ${by}`,
    values: [value],
  })
  if (row === null) return null
  const { id, email, name } = row
  return {
    id,
    email,
    name,
    passwordHash: row.password_hash,
    disabled: row.disabled_at !== null,
    emailProven: row.email_proven_at !== null,
    totpSecret: row.totp_secret,
    sessionsSince: row.sessions_since,
  }
}

/**
 * Adds a person; without a password hash they cannot sign in until they have followed a link.
 * @returns false if somebody has the email already, which changes nothing
 */
export async function insertPerson(
  tx: Queryable,
  { id, email, name, passwordHash }: Pick<Person, 'id' | 'email' | 'name' | 'passwordHash'>,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into people (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, $5)
     on conflict (lower(email)) do nothing`,
    [id, email, name, passwordHash, now],
  )
  return rowCount === 1
}

/** Notes that an email is its person's. */
export async function proveEmail(tx: Queryable, personId: string, now: Date): Promise<void> {
  await tx.query('update people set email_proven_at = $2 where id = $1 and email_proven_at is null', [personId, now])
}

/** Sets a password, or takes it away. @returns the person's name */
export async function setPassword(tx: Queryable, personId: string, passwordHash: string | null): Promise<string> {
  const { rows } = await tx.query<{ name: string }>(
    'update people set password_hash = $2 where id = $1 returning name',
    [personId, passwordHash],
  )
  const [row] = rows
  if (row === undefined) throw new Error('a password was set for a person who is not there')
  return row.name
}

/** Ends the sign-ins of a membership; their tokens are refused on the next request. */
export async function endSignInsOfMembership(tx: Queryable, membershipId: string, now: Date): Promise<void> {
  await tx.query('update sign_ins set ended_at = $2 where membership_id = $1 and ended_at is null', [membershipId, now])
}

/**
 * Ends everything that a person has signed in to: sign-ins with their tokens, and the sessions of browsers.
 *
 * Sessions carry the second in which they began, or the person's `sessions_since` if that is later. The new value is
 * above both, so it ends exactly the sessions of before, even those of the same second.
 *
 * @returns the new `sessions_since`; a session that is to go on takes it over
 */
export async function endEverySession(tx: Queryable, personId: string, now: Date): Promise<number> {
  const { rows } = await tx.query<{ sessions_since: number }>(
    'update people set sessions_since = greatest(sessions_since, $2::bigint) + 1 where id = $1 returning sessions_since',
    [personId, Math.floor(now.getTime() / 1000)],
  )
  const [row] = rows
  if (row === undefined) throw new Error('sessions were ended of a person who is not there')
  // After the lock on the person, so that it sees a sign-in that was being made.
  await tx.query('update sign_ins set ended_at = $2 where person_id = $1 and ended_at is null', [personId, now])
  return row.sessions_since
}
