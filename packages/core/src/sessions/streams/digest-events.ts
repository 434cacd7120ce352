import type { LogDigest } from '@berth/contract'
import { invalidField, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { digestWithin } from '../log/chain.ts'
import { requireSeen } from '../session/read-session.ts'
import { readLogHead } from './event-sql.ts'

/**
 * Returns what a log comes to at one of its Events, the newest if none is named.
 * @throws ApiError 404 `cloud_session_not_found`, 400 `invalid_request` if the log is shorter
 * @throws BlobsUnavailable
 */
export async function digestEvents(
  context: Context,
  principal: Principal,
  key: SessionKey,
  at: number | undefined,
): Promise<LogDigest> {
  const { last_event_sequence: last } = requireSeen(principal, await readLogHead(context.db, key))
  if (at !== undefined && at > last) throw invalidField(['at'], `the log ends at ${last}`)
  const digest = await digestWithin(context, key, at ?? null)
  if (digest === null) throw sessionNotFound()
  return digest
}
