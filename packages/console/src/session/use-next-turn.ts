import type { Session } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { nextTurnQuery } from '../api/queries.ts'

/** A message that was admitted or refused a moment ago is asked for again; no Event tells of a refusal. */
const settleMs = 1_000

/** The message that waits until the agent has finished. */
export function useNextTurn(session: Session): NextTurn | null {
  const idle = session.activeRunId === undefined
  const { data } = useQuery({
    ...nextTurnQuery(session.id),
    refetchInterval: ({ state }) => (idle && state.data?.refused === null ? settleMs : false),
  })
  return data ?? null
}
