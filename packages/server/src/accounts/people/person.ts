import type { Queryable } from '../../storage/postgres/database.ts'

/** A local account. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly passwordHash: string | null
  readonly disabled: boolean
}

interface PersonRow {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly password_hash: string | null
  readonly disabled_at: Date | null
}

/** Finds a person by email, in whatever case it is written. */
export async function findPersonByEmail(db: Queryable, email: string): Promise<Person | null> {
  const { rows } = await db.query<PersonRow>({
    name: 'find-person-by-email',
    text: 'select id, email, name, password_hash, disabled_at from people where lower(email) = lower($1)',
    values: [email],
  })
  const [row] = rows
  if (row === undefined) return null
  const { id, name } = row
  return { id, name, email: row.email, passwordHash: row.password_hash, disabled: row.disabled_at !== null }
}

/** Adds a person; without a password hash they cannot sign in until they have followed a link. */
export async function insertPerson(tx: Queryable, person: Omit<Person, 'disabled'>, now: Date): Promise<void> {
  await tx.query('insert into people (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, $5)', [
    person.id,
    person.email,
    person.name,
    person.passwordHash,
    now,
  ])
}

/** Sets a password. @returns the person's name */
export async function setPassword(tx: Queryable, personId: string, passwordHash: string): Promise<string> {
  const { rows } = await tx.query<{ name: string }>(
    'update people set password_hash = $2 where id = $1 returning name',
    [personId, passwordHash],
  )
  const [row] = rows
  if (row === undefined) throw new Error('a password was set for a person who is not there')
  return row.name
}

/** Ends sign-ins of a person or of a membership; their tokens are refused on the next request. */
export async function endSignIns(
  tx: Queryable,
  of: { readonly personId: string } | { readonly membershipId: string },
  now: Date,
): Promise<void> {
  const [column, id] = 'personId' in of ? ['person_id', of.personId] : ['membership_id', of.membershipId]
  await tx.query(`update sign_ins set ended_at = $2 where ${column} = $1 and ended_at is null`, [id, now])
}
