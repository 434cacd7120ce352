import type { Verification, VerificationPage } from '@berth/contract'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
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
  const list = `verifications ${key.sessionId}`
  const before = query.cursor === undefined ? null : decodeCursor(list, query.cursor)
  const rows = await listVerifications(context.db, key, before, query.limit + 1)
  const { page, ...more } = pageOf(list, rows, query.limit, row => row.created_at)
  return { verifications: page.map(toVerification), ...more }
}
