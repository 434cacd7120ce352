import type { JsonWebKey } from 'node:crypto'
import type { Queryable } from '../../storage/postgres/database.ts'

export interface SigningKeyRow {
  readonly kid: string
  readonly public_jwk: JsonWebKey
  readonly sealed_private: Buffer
  readonly signs_from: Date
  readonly signs_until: Date
  readonly ends_at: Date
}

/** Keys that sign now or later, or whose tokens may still be valid; the oldest first. */
export async function listSigningKeys(db: Queryable, now: Date): Promise<readonly SigningKeyRow[]> {
  const { rows } = await db.query<SigningKeyRow>({
    name: 'list-signing-keys',
    text: `
      select kid, public_jwk, sealed_private, signs_from, signs_until, ends_at
      from signing_keys where ends_at > $1 order by signs_from, kid`,
    values: [now],
  })
  return rows
}

/** Holds every process off the table until the transaction ends: one of them makes the next key. */
export async function lockSigningKeys(tx: Queryable): Promise<void> {
  await tx.query('lock table signing_keys in share row exclusive mode')
}

export async function insertSigningKey(tx: Queryable, key: SigningKeyRow, now: Date): Promise<void> {
  await tx.query({
    text: `
      insert into signing_keys (kid, public_jwk, sealed_private, created_at, signs_from, signs_until, ends_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [
      key.kid,
      JSON.stringify(key.public_jwk),
      key.sealed_private,
      now,
      key.signs_from,
      key.signs_until,
      key.ends_at,
    ],
  })
}

/** Forgets keys whose last token has ended. @returns how many there were */
export async function forgetSigningKeys(db: Queryable, now: Date): Promise<number> {
  const { rowCount } = await db.query({ text: 'delete from signing_keys where ends_at <= $1', values: [now] })
  return rowCount
}
