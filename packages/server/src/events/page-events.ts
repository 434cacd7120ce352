import type { Context } from '../context.ts'
import type { Principal } from '../identity/principal.ts'
import { readSession } from '../sessions/read-session.ts'
import type { SessionKey } from './append.ts'
import { listEventsAfter } from './event-sql.ts'

/**
 * JSON text of a page of Events (interface 4.7). The envelopes are spliced in as they were stored, so that a page, a
 * stream and a webhook carry the same bytes. `lastSequence` is the newest in the log, at least that of the page.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function pageEvents(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { after: number; limit: number },
): Promise<string> {
  const session = await readSession(context, principal, key)
  const events = await listEventsAfter(context.db, key, query.after, query.limit)
  const newest = Math.max(session.last_event_sequence, events.at(-1)?.sequence ?? 0)
  return `{"events":[${events.map(event => event.envelope).join(',')}],"lastSequence":${newest}}`
}
