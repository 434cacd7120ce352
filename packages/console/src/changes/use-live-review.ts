import type { Review, Session } from '@berth/client'
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLog } from '../session/logs.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { reviewQuery, storedReviewQuery } from './queries.ts'
import { useSettled } from './use-settled.ts'

/** An agent edits in bursts; a review of each edit would be one too many. */
const quietMs = 2_000

/** Whether the changes of a Session can only be read as they were stored. */
export const isStored = ({ workspace }: Session): boolean => workspace.state !== 'attached'

/** The changes on screen, and the outcome of the last attempt to read them. */
export type LiveReview = Pick<UseQueryResult<Review>, 'data' | 'error' | 'isError' | 'isFetching' | 'refetch'>

/**
 * Returns the changes as they are now: read again when the agent has edited something, never on a timer. A review stays
 * until another one is there: if it went away with a read that fails, so would a dialog over it that somebody fills in.
 * Without a sandbox nothing changes, and they are read as the last Run left them.
 */
export function useLiveReview(session: Session): LiveReview {
  const editedAt = useLog(session.id, snapshot => (snapshot.ready ? snapshot.view.editedAt : -1))
  const settled = useSettled(editedAt, quietMs)
  // The first review does not wait.
  const at = settled === -1 ? editedAt : settled
  const can = useSessionCan(session)('review')
  const stored = isStored(session) ? (session.changes?.revision ?? null) : undefined
  const { data, error, isError, isFetching, refetch } = useQuery({
    ...(stored === undefined ? reviewQuery(session.id, at) : storedReviewQuery(session.id, stored ?? '')),
    enabled: can.allowed && (stored === undefined ? at !== -1 : stored !== null),
    placeholderData: keepPreviousData,
  })
  const [kept, keep] = useState({ of: session.id, data })
  if (kept.of !== session.id || (data !== undefined && data !== kept.data)) keep({ of: session.id, data })
  return { data: data ?? (kept.of === session.id ? kept.data : undefined), error, isError, isFetching, refetch }
}
