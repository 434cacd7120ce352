import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { endOwnSignIn } from './sign-ins.ts'

/**
 * Ends a sign-in of a person and records it; ending it again changes nothing.
 * @returns false if the person has no such sign-in
 */
export async function endSignInOf(
  tx: Queryable,
  { personId, signInId, address }: { readonly personId: string; readonly signInId: string; readonly address: string },
  now: Date,
): Promise<boolean> {
  const ended = await endOwnSignIn(tx, personId, signInId, now)
  if (ended === null) return false
  if (ended.isNew) {
    const entry = {
      organizationId: ended.organizationId,
      actor: { kind: 'person', id: personId, name: null },
      action: 'sign_in.ended',
      target: `sign-in/${signInId}`,
      address,
      outcome: 'done',
    } as const
    await appendAudit(tx, entry, now)
  }
  return true
}
