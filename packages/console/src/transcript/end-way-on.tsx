import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { WayOn } from '../sessions/way-on.tsx'

/** Faults that another model has not, and that a look at the models explains. */
const ofModel = /^model_(?!context|request|response)/

/** The step that goes on, if the Run is still the newest of its Session. */
export function EndWayOn({ sessionId, runId }: { sessionId: string; runId: string | null }) {
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  if (session.lastRun?.id !== runId) return null
  return (
    <>
      <WayOn session={session} />
      {ofModel.test(session.lastRun.errorCode ?? '') && (
        <Link {...to.models()} className="-my-2 py-2 font-medium text-accent underline decoration-line-strong">
          Models
        </Link>
      )}
    </>
  )
}
