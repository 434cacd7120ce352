import type { JsonWebKey } from 'node:crypto'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { insertAppKey, listAppKeys } from './app-key-sql.ts'
import { hasApp } from './app-sql.ts'

const ACTIVE_KEYS = 10

/**
 * Registers a public key of an app. The app's row is locked, so of two keys at the same moment one may be the eleventh.
 * @returns whether the key is new
 * @throws ApiError 400 for a revoked key, 404 `app_not_found`, 409 `app_key_limit_reached`
 */
export async function registerKey(
  tx: Queryable,
  key: {
    readonly organizationId: string
    readonly membershipId: string
    readonly slug: string
    readonly kid: string
    readonly publicJwk: JsonWebKey
  },
  now: Date,
): Promise<boolean> {
  if (!(await hasApp(tx, key.organizationId, key.slug, { lock: true }))) throw refusal('app_not_found')
  const keys = await listAppKeys(tx, key.slug)
  const known = keys.find(({ kid }) => kid === key.kid)
  if (known?.revoked_at === null) return false
  if (known !== undefined) throw invalidField(['publicKeyPem'], 'this key was revoked and cannot return')
  if (keys.filter(({ revoked_at }) => revoked_at === null).length >= ACTIVE_KEYS) throw refusal('app_key_limit_reached')
  await insertAppKey(tx, key, now)
  return true
}
