import type { Event, Interaction, Publication, Session } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { call } from '../api/client.ts'
import { interactionsQuery, nextTurnQuery, queryClient, sessionQuery } from '../api/queries.ts'

/** The first view of a Session, read in one request. */
interface Overview {
  readonly session: Session
  readonly interactions: readonly Interaction[]
  readonly publications: readonly Publication[]
  readonly nextTurn: NextTurn | null
  readonly events: readonly Event[]
}

/** Ends of logs that were read with their Sessions, until the log asks for its own. */
const ends = new Map<string, readonly Event[]>()

/** Reads a Session with everything that its page shows first, unless the tab knows it already. */
export async function ensureSession(sessionId: string): Promise<void> {
  if (queryClient.getQueryData(sessionQuery(sessionId).queryKey) !== undefined) return
  ends.set(sessionId, await readOverview(sessionId))
}

/** Returns the end of a Session's log, at most 100 Events. */
export async function endOf(sessionId: string, signal: AbortSignal): Promise<readonly Event[]> {
  const known = ends.get(sessionId)
  ends.delete(sessionId)
  return known ?? readOverview(sessionId, signal)
}

async function readOverview(sessionId: string, signal?: AbortSignal): Promise<readonly Event[]> {
  const overview = await call<Overview>('GET', `sessions/${sessionId}/overview`, undefined, signal)
  queryClient.setQueryData(sessionQuery(sessionId).queryKey, overview.session)
  queryClient.setQueryData(interactionsQuery(sessionId).queryKey, [...overview.interactions])
  queryClient.setQueryData(nextTurnQuery(sessionId).queryKey, overview.nextTurn)
  queryClient.setQueryData(['session', sessionId, 'publications'], [...overview.publications])
  return overview.events
}
