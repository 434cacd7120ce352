import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { SignInContext } from './configuration.ts'
import { deleteRecord, listRecordsOfGrant, putRecord } from './record-sql.ts'

/** A binding outlives every sign-in that it could end. */
const BINDING_MS = 90 * 86_400_000
const KIND = 'SessionBinding'

type BindingContext = Pick<SignInContext, 'db' | 'clock' | 'masterKey'>

/** Keeps that a sign-in ends with a session. The provider's records have one index for several of one owner, `grant_digest`. */
export async function putBinding(
  { db, clock, masterKey }: BindingContext,
  { grantId, sessionUid }: { readonly grantId: string; readonly sessionUid: string },
): Promise<void> {
  await putRecord(db, {
    kind: KIND,
    id: grantId,
    payload: masterKey.seal(JSON.stringify({ grantId }), `oidc/${KIND}`).toString('base64'),
    grantId: sessionUid,
    userCode: undefined,
    uid: undefined,
    expiresAt: new Date(clock.now().getTime() + BINDING_MS),
  })
}

/** Forgets that a sign-in ends with a session. */
export const dropBinding = (db: Queryable, grantId: string): Promise<void> => deleteRecord(db, KIND, grantId)

/** Returns the ids of the sign-ins that end with a session, the oldest first. */
export async function listBindings({ db, masterKey }: BindingContext, sessionUid: string): Promise<readonly string[]> {
  const records = await listRecordsOfGrant(db, KIND, sessionUid)
  return records.map(({ payload }) => {
    const opened = masterKey.open(Buffer.from(payload.sealed, 'base64'), `oidc/${KIND}`)
    return (JSON.parse(opened.toString()) as { readonly grantId: string }).grantId
  })
}
