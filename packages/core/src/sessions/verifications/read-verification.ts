import type { Verification, VerificationPage } from '@berth/contract'
import { readPage } from '@berth/platform/kit/list-cursor.ts'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { toVerification } from './verification.ts'
import { findVerification, listVerifications } from './verification-sql.ts'

/**
 * Returns a verification of a Session that the caller sees.
 * @throws ApiError 404
 */
export async function readVerification(
  context: Context,
  principal: Principal,
  key: SessionKey,
  id: string,
): Promise<Verification> {
  await readSession(context, principal, key)
  const row = await findVerification(context.db, key, id)
  if (row === null) throw sessionNotFound()
  return toVerification(row)
}

/**
 * Returns a page of a Session's verifications, newest first.
 * @throws ApiError 404
 * @throws ApiError 400 if the cursor is of another list
 */
export async function pageVerifications(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { limit: number; cursor?: string },
): Promise<VerificationPage> {
  await readSession(context, principal, key)
  const { page, ...more } = await readPage(`verifications ${key.sessionId}`, query, (before, limit) =>
    listVerifications(context.db, key, before, limit),
  )
  return { verifications: page.map(toVerification), ...more }
}
