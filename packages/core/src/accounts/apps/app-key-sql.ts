import type { JsonWebKey } from 'node:crypto'
import { type Queryable, queryChanged, queryRows } from '@berth/platform/storage/postgres/database.ts'

interface AppKeyRow {
  readonly kid: string
  readonly created_at: Date
  readonly revoked_at: Date | null
}

/** Lists an app's keys, the first registered first. */
export async function listAppKeys(db: Queryable, slug: string): Promise<readonly AppKeyRow[]> {
  return await queryRows<AppKeyRow>(db, {
    name: 'list-app-keys',
    text: 'select kid, created_at, revoked_at from app_keys where app_slug = $1 order by created_at, kid',
    values: [slug],
  })
}

export async function insertAppKey(
  db: Queryable,
  key: {
    readonly slug: string
    readonly kid: string
    readonly publicJwk: JsonWebKey
    readonly membershipId: string
  },
  now: Date,
): Promise<void> {
  await db.query({
    name: 'insert-app-key',
    text: 'insert into app_keys (app_slug, kid, public_jwk, created_by, created_at) values ($1, $2, $3, $4, $5)',
    values: [key.slug, key.kid, JSON.stringify(key.publicJwk), key.membershipId, now],
  })
}

/** Revokes a key, once. @returns false if the app has no such key */
export async function revokeAppKey(db: Queryable, slug: string, kid: string, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    name: 'revoke-app-key',
    text: 'update app_keys set revoked_at = coalesce(revoked_at, $3) where app_slug = $1 and kid = $2',
    values: [slug, kid, now],
  })
}
