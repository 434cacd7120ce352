import { useSuspenseQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'
import { WayOn } from '../sessions/way-on.tsx'

/** The step that goes on, if the Run is still the newest of its Session. */
export function EndWayOn({ sessionId, runId }: { sessionId: string; runId: string | null }) {
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  return session.lastRun?.id === runId ? <WayOn session={session} /> : null
}
