import type { Session } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { storedReviewQuery } from '../changes/queries.ts'
import { costQuery } from '../session/cost.tsx'
import { useLog } from '../session/logs.ts'
import { outcomeOf } from '../verification/outcome.ts'
import { verificationsQuery } from '../verification/queries.ts'

/** Returns the facts of one of the compared Sessions. Its changes are those that its last Run left: nothing is started. */
export function useAttempt(session: Session) {
  const revision = session.changes?.revision ?? null
  const verifications = useQuery({ ...verificationsQuery(session.id), enabled: revision !== null })
  const changed = useLog(session.id, ({ view }) => view.changedAt)
  const cost = useQuery(costQuery(session.id, changed))
  const review = useQuery({ ...storedReviewQuery(session.id, revision ?? ''), enabled: revision !== null })
  return {
    session,
    revision,
    cost: cost.data,
    review: review.data,
    problem: review.error ?? cost.error ?? verifications.error,
    outcome: revision === null ? undefined : outcomeOf(verifications.data ?? [], revision, null),
  } as const
}

export type Attempt = ReturnType<typeof useAttempt>
