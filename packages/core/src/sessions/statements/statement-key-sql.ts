import { type Queryable, queryChanged, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { StatementKeyRow } from './statement-key.ts'

/** Lists all keys that have signed statements, or will, oldest first. There are a dozen a year. */
export async function listStatementKeys(db: Queryable): Promise<readonly StatementKeyRow[]> {
  return await queryRows<StatementKeyRow>(db, {
    name: 'list-statement-keys',
    text: `
      select kid, public_jwk, sealed_private, signs_from, signs_until, revoked_at
      from statement_keys order by signs_from, created_at, kid`,
  })
}

/** Locks the table against other processes until the transaction ends, so that only one makes the next key. */
export async function lockStatementKeys(tx: Queryable): Promise<void> {
  await tx.query('lock table statement_keys in share row exclusive mode')
}

export async function insertStatementKey(tx: Queryable, key: StatementKeyRow, now: Date): Promise<void> {
  await tx.query({
    text: `
      insert into statement_keys (kid, public_jwk, sealed_private, created_at, signs_from, signs_until)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [key.kid, JSON.stringify(key.public_jwk), key.sealed_private, now, key.signs_from, key.signs_until],
  })
}

/** Destroys the private halves of keys that sign no more. */
export async function destroyPrivateHalves(tx: Queryable, now: Date): Promise<void> {
  await tx.query({
    text: `
      update statement_keys set sealed_private = null
      where sealed_private is not null and (signs_until <= $1 or revoked_at is not null)`,
    values: [now],
  })
}

/** Takes a key back: nothing that it has signed counts from then on. @returns false if there is none to take back */
export async function revokeStatementKey(db: Queryable, kid: string, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    text: 'update statement_keys set revoked_at = $2, sealed_private = null where kid = $1 and revoked_at is null',
    values: [kid, now],
  })
}
