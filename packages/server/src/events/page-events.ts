import type { Context } from '../context.ts'
import type { Principal } from '../identity/principal.ts'
import { requireSeen } from '../sessions/visibility.ts'
import type { SessionKey } from './append.ts'
import { readEventPage } from './event-sql.ts'

/**
 * JSON text of a page of Events (interface 4.7). The envelopes are spliced in as they were stored, so that a page, a
 * stream and a webhook carry the same bytes. `lastSequence` is the newest in the log.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function pageEvents(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { after: number; limit: number },
): Promise<string> {
  const page = requireSeen(principal, await readEventPage(context.db, key, query.after, query.limit))
  return `{"events":[${page.envelopes ?? ''}],"lastSequence":${page.last_event_sequence}}`
}
