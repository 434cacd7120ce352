import { BerthError } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { call } from '../api/client.ts'
import { cacheNextTurn, nextTurnQuery, queryClient } from '../api/queries.ts'

/** Other devices leave messages too; a person is not that quick. */
const attempts = 3

/**
 * Leaves a message behind the one of the same person that waits. If that has changed or was sent meanwhile, it looks
 * again, so that no text is lost, and none is sent twice.
 */
export async function leaveMessage(
  sessionId: string,
  personId: string,
  turnId: string,
  message: string,
  waiting: NextTurn | null,
): Promise<void> {
  const query = nextTurnQuery(sessionId)
  let next = waiting
  for (let attempt = 1; ; attempt++) {
    // The answer to an earlier attempt was lost.
    if (next?.turnId === turnId) return
    const body =
      next === null ? { turnId, message } : { turnId, message: `${next.message}\n\n${message}`, replaces: next.turnId }
    try {
      const { nextTurn } = await call<{ nextTurn: NextTurn | null }>('PUT', `sessions/${sessionId}/next-turn`, body)
      cacheNextTurn(sessionId, nextTurn)
      return
    } catch (error) {
      const code = error instanceof BerthError ? error.code : null
      // Nobody else knows the id: the message is a Turn already.
      if (code === 'cloud_turn_conflict') return
      if (code !== 'cloud_next_turn_conflict' || attempt === attempts) throw error
      next = await queryClient.fetchQuery({ ...query, staleTime: 0 })
      if (next !== null && (next.refused !== null || next.writtenBy.id !== personId)) throw error
    }
  }
}
