import type { InteractionList } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { toInteraction } from './interaction.ts'
import { listOpen } from './interaction-sql.ts'

/**
 * Returns the open Interactions of a Session.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function listInteractions(
  context: Context,
  principal: Principal,
  key: SessionKey,
): Promise<InteractionList> {
  await readSession(context, principal, key)
  return { interactions: (await listOpen(context.db, key)).map(toInteraction) }
}
