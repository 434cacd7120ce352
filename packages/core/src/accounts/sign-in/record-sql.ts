import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { type Queryable, queryChanged, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** A record of the OpenID provider, with the values by which it is looked up. */
export interface NewRecord {
  readonly kind: string
  readonly id: string
  readonly payload: string
  readonly grantId: string | undefined
  readonly userCode: string | undefined
  readonly uid: string | undefined
  readonly expiresAt: Date | null
}

export interface StoredRecord {
  readonly payload: { readonly sealed: string }
  readonly consumed_at: Date | null
}

const digestOf = (value: string | undefined) => (value === undefined ? null : credentialDigest(value))

/** Writes a record, or changes the one of this id. */
export async function putRecord(db: Queryable, record: NewRecord): Promise<void> {
  const { kind, id, payload, grantId, userCode, uid, expiresAt } = record
  await db.query({
    name: 'put-oidc-record',
    text: `
      insert into oidc_records (kind, digest, payload, grant_digest, user_code_digest, uid_digest, expires_at)
      values ($1, $2, jsonb_build_object('sealed', $3::text), $4, $5, $6, $7)
      on conflict (kind, digest) do update set payload = excluded.payload, grant_digest = excluded.grant_digest,
        user_code_digest = excluded.user_code_digest, uid_digest = excluded.uid_digest, expires_at = excluded.expires_at`,
    values: [kind, digestOf(id), payload, digestOf(grantId), digestOf(userCode), digestOf(uid), expiresAt],
  })
}

/**
 * Writes a record of which there may be one alone; an expired one makes room.
 * @returns false if there is one
 */
export async function insertRecord(
  db: Queryable,
  { kind, id, payload, expiresAt }: Pick<NewRecord, 'kind' | 'id' | 'payload' | 'expiresAt'>,
  now: Date,
): Promise<boolean> {
  return await queryChanged(db, {
    name: 'insert-oidc-record',
    text: `
      insert into oidc_records as r (kind, digest, payload, expires_at)
      values ($1, $2, jsonb_build_object('sealed', $3::text), $4)
      on conflict (kind, digest) do update set payload = excluded.payload, expires_at = excluded.expires_at
        where r.expires_at <= $5`,
    values: [kind, digestOf(id), payload, expiresAt, now],
  })
}

/** Reads a record by one of its values, unless it has expired. */
export async function readRecord(
  db: Queryable,
  kind: string,
  by: 'digest' | 'user_code_digest' | 'uid_digest',
  value: string,
  now: Date,
): Promise<StoredRecord | null> {
  return await queryRow<StoredRecord>(db, {
    name: `read-oidc-record-by-${by}`,
    text: `
      select payload, consumed_at from oidc_records
      where kind = $1 and ${by} = $2 and (expires_at is null or expires_at > $3)`,
    values: [kind, digestOf(value), now],
  })
}

/** Marks a record as consumed. @returns false if somebody else has consumed it */
export async function consumeRecord(db: Queryable, kind: string, id: string, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    name: 'consume-oidc-record',
    text: 'update oidc_records set consumed_at = $3 where kind = $1 and digest = $2 and consumed_at is null',
    values: [kind, digestOf(id), now],
  })
}

export async function deleteRecord(db: Queryable, kind: string, id: string): Promise<void> {
  await db.query({
    name: 'delete-oidc-record',
    text: 'delete from oidc_records where kind = $1 and digest = $2',
    values: [kind, digestOf(id)],
  })
}

/** Returns the records of one kind that name a grant, in the order in which they expire. */
export async function listRecordsOfGrant(db: Queryable, kind: string, grantId: string): Promise<StoredRecord[]> {
  return await queryRows<StoredRecord>(db, {
    name: 'list-oidc-records-of-grant',
    text: `
      select payload, consumed_at from oidc_records where kind = $1 and grant_digest = $2 order by expires_at, digest`,
    values: [kind, digestOf(grantId)],
  })
}

export async function deleteRecordsOfGrant(db: Queryable, kind: string, grantId: string): Promise<void> {
  await db.query({
    name: 'delete-oidc-records-of-grant',
    text: 'delete from oidc_records where kind = $1 and grant_digest = $2',
    values: [kind, digestOf(grantId)],
  })
}
