import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** The key pair of the deployment as it is stored. */
export interface PushKeyRow {
  readonly public_key: Buffer
  readonly sealed_private_key: Buffer
}

/** Returns the key pair; null if none was made yet. */
export async function findPushKey(db: Queryable): Promise<PushKeyRow | null> {
  const { rows } = await db.query<PushKeyRow>({
    name: 'find-push-key',
    text: 'select public_key, sealed_private_key from push_keys',
  })
  return rows[0] ?? null
}

/** Stores a key pair, unless another process was first. */
export async function insertPushKey(db: Queryable, key: PushKeyRow, now: Date): Promise<void> {
  await db.query({
    name: 'insert-push-key',
    text: `
      insert into push_keys (public_key, sealed_private_key, created_at) values ($1, $2, $3)
      on conflict (is_only) do nothing`,
    values: [key.public_key, key.sealed_private_key, now],
  })
}
