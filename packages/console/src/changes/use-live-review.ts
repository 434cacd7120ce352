import type { Review, Session } from '@berth/client'
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLog } from '../session/logs.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { reviewQuery } from './queries.ts'
import { useSettled } from './use-settled.ts'

/** An agent edits in bursts; a review of each edit would be one too many. */
const quietMs = 2_000

/** The changes on screen, and the outcome of the last attempt to read them. */
export type LiveReview = Pick<UseQueryResult<Review>, 'data' | 'error' | 'isError' | 'isFetching' | 'refetch'>

/**
 * Returns the changes as they are now: read again when the agent has edited something, never on a timer. A review stays
 * until another one is there: if it went away with a read that fails, so would a dialog over it that somebody fills in.
 */
export function useLiveReview(session: Session): LiveReview {
  const editedAt = useLog(session.id, snapshot => (snapshot.ready ? snapshot.view.editedAt : -1))
  const settled = useSettled(editedAt, quietMs)
  // The first review does not wait.
  const at = settled === -1 ? editedAt : settled
  const can = useSessionCan(session)('review')
  const { data, error, isError, isFetching, refetch } = useQuery({
    ...reviewQuery(session.id, at),
    enabled: can.allowed && at !== -1,
    placeholderData: keepPreviousData,
  })
  const [kept, keep] = useState({ of: session.id, data })
  if (kept.of !== session.id || (data !== undefined && data !== kept.data)) keep({ of: session.id, data })
  return { data: data ?? (kept.of === session.id ? kept.data : undefined), error, isError, isFetching, refetch }
}
