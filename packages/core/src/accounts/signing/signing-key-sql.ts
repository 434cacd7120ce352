import type { JsonWebKey } from 'node:crypto'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

export interface SigningKeyRow {
  readonly kid: string
  readonly public_jwk: JsonWebKey
  readonly sealed_private: Buffer
  readonly signs_from: Date
  readonly signs_until: Date
  readonly expires_at: Date
}

/** Lists the keys that sign now or later, or whose tokens may still be valid, oldest first. */
export async function listSigningKeys(db: Queryable, now: Date): Promise<readonly SigningKeyRow[]> {
  return await queryRows<SigningKeyRow>(db, {
    name: 'list-signing-keys',
    text: `
      select kid, public_jwk, sealed_private, signs_from, signs_until, expires_at
      from signing_keys where expires_at > $1 order by signs_from, kid`,
    values: [now],
  })
}

/** Locks the table against other processes until the transaction ends, so that only one makes the next key. */
export async function lockSigningKeys(tx: Queryable): Promise<void> {
  await tx.query('lock table signing_keys in share row exclusive mode')
}

export async function insertSigningKey(tx: Queryable, key: SigningKeyRow, now: Date): Promise<void> {
  await tx.query({
    text: `
      insert into signing_keys (kid, public_jwk, sealed_private, created_at, signs_from, signs_until, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [
      key.kid,
      JSON.stringify(key.public_jwk),
      key.sealed_private,
      now,
      key.signs_from,
      key.signs_until,
      key.expires_at,
    ],
  })
}

/**
 * Deletes keys whose last token has expired.
 * @returns the number of deleted keys
 */
export async function forgetSigningKeys(db: Queryable, now: Date): Promise<number> {
  const { rowCount } = await db.query({ text: 'delete from signing_keys where expires_at <= $1', values: [now] })
  return rowCount
}
