import { type Queryable, queryAny, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** A connection that a browser has begun. */
interface Begun {
  readonly host: string
  /** Sealed. */
  readonly verifier: Buffer
  readonly returnTo: string
}

export async function insertBegun(
  db: Queryable,
  begun: Begun & { readonly stateDigest: Buffer; readonly browserSessionId: string; readonly endsAt: Date },
): Promise<void> {
  await db.query({
    name: 'insert-host-people-begun',
    text: `
      insert into host_people_begun (state_digest, console_session_id, host, verifier, return_to, expires_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [begun.stateDigest, begun.browserSessionId, begun.host, begun.verifier, begun.returnTo, begun.endsAt],
  })
}

/**
 * Takes the connection that a browser has begun, which ends it: of several who present a state at once, one gets it. Another browser
 * gets nothing and ends nothing.
 */
export async function takeBegun(
  db: Queryable,
  by: { readonly stateDigest: Buffer; readonly browserSessionId: string; readonly now: Date },
): Promise<Begun | null> {
  return await queryRow<Begun>(db, {
    name: 'take-host-people-begun',
    text: `
      delete from host_people_begun where state_digest = $1 and console_session_id = $2 and expires_at > $3
      returning host, verifier, return_to as "returnTo"`,
    values: [by.stateDigest, by.browserSessionId, by.now],
  })
}

/** Deletes connections that can no longer be finished. */
export async function forgetBegun(db: Queryable, now: Date): Promise<void> {
  await db.query('delete from host_people_begun where expires_at <= $1', [now])
}

/**
 * Returns whether a sign-in still lives, and keeps it so until the transaction ends: whatever ends the sign-ins of a person
 * waits, and then sees the new connection.
 */
export async function holdsSignIn(tx: Queryable, signInId: string): Promise<boolean> {
  return await queryAny(tx, {
    name: 'hold-sign-in',
    text: 'select 1 from sign_ins where id = $1 and ended_at is null for share',
    values: [signInId],
  })
}
