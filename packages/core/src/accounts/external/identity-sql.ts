import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { ExternalIdentity } from './external-provider.ts'

/** An identity that is linked to a person. */
export interface LinkedIdentity {
  readonly issuer: string
  readonly subject: string
  readonly linkedAt: Date
}

/** Returns the id of the person whom an identity names; null if nobody is linked to it. */
export async function findLinkedPerson(
  db: Queryable,
  { issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>,
): Promise<string | null> {
  const { rows } = await db.query<{ person_id: string }>(
    'select person_id from external_identities where issuer = $1 and subject = $2',
    [issuer, subject],
  )
  return rows[0]?.person_id ?? null
}

/** Lists the identities of a person, oldest first. */
export async function listIdentities(db: Queryable, personId: string): Promise<readonly LinkedIdentity[]> {
  const { rows } = await db.query<{ issuer: string; subject: string; created_at: Date }>(
    'select issuer, subject, created_at from external_identities where person_id = $1 order by created_at, issuer',
    [personId],
  )
  return rows.map(({ issuer, subject, created_at }) => ({ issuer, subject, linkedAt: created_at }))
}

/**
 * Links an identity to a person. Its lock on the person excludes `endEverySession`: a session that ends at this moment
 * either links nothing, or what it links is seen by whatever ended it.
 *
 * @param began when the session that links it began; absent if no session does
 * @returns false if it is linked already, to whomever, or if the session has ended
 */
export async function insertIdentity(
  tx: Queryable,
  personId: string,
  { issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>,
  now: Date,
  began: number | null = null,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into external_identities (issuer, subject, person_id, created_at)
     select $1, $2, p.id, $4 from people p
     where p.id = $3 and ($5::bigint is null or p.sessions_since <= $5) for share of p
     on conflict do nothing`,
    [issuer, subject, personId, now, began],
  )
  return rowCount === 1
}

/** Takes an identity from a person. @returns false if it was not theirs */
export async function deleteIdentity(
  tx: Queryable,
  personId: string,
  { issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'delete from external_identities where person_id = $1 and issuer = $2 and subject = $3',
    [personId, issuer, subject],
  )
  return rowCount === 1
}
