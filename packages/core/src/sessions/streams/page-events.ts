import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { requireSeen } from '../session/read-session.ts'
import { readLogHead } from './event-sql.ts'
import type { PageCache } from './page-cache.ts'
import { readWholePage } from './read-log.ts'

/**
 * Returns the JSON text of a page of Events. It splices in the envelopes as they were stored, so a page, a stream and a
 * webhook carry the same bytes. `lastSequence` is the newest in the log.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function pageEvents(
  context: Context,
  cache: PageCache,
  principal: Principal,
  key: SessionKey,
  { after, limit }: { after: number; limit: number },
): Promise<string> {
  const place = `${key.organizationId}/${key.sessionId}/${after}/${limit}`
  const known = cache.get(place)
  if (known !== undefined) {
    const head = requireSeen(principal, await readLogHead(context.db, key))
    return pageText(known, head.last_event_sequence)
  }
  const page = requireSeen(principal, await readWholePage(context, key, after, limit))
  const envelopes = page.envelopes ?? ''
  if (page.events === limit) cache.set(place, envelopes)
  return pageText(envelopes, page.last_event_sequence)
}

const pageText = (envelopes: string, lastSequence: number): string =>
  `{"events":[${envelopes}],"lastSequence":${lastSequence}}`
