import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** The key pair of the deployment as it is stored. */
export interface PushKeyRow {
  readonly public_key: Buffer
  readonly sealed_private_key: Buffer
}

/** Returns the key pair; null if none was made yet. */
export async function findPushKey(db: Queryable): Promise<PushKeyRow | null> {
  return await queryRow<PushKeyRow>(db, {
    name: 'find-push-key',
    text: `
      select push_public_key as public_key, sealed_push_private_key as sealed_private_key
      from deployment where push_public_key is not null`,
  })
}

/** Stores a key pair, unless another process was first. */
export async function writePushKey(db: Queryable, key: PushKeyRow): Promise<void> {
  await db.query({
    name: 'write-push-key',
    text: `
      update deployment set push_public_key = $1, sealed_push_private_key = $2 where push_public_key is null`,
    values: [key.public_key, key.sealed_private_key],
  })
}
