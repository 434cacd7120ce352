import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../api/client.ts'

/** Asks the active Run to stop. It has stopped when the log says so. */
export function useStop(session: Session) {
  return useMutation({
    mutationFn: async () => {
      if (session.activeRunId !== undefined)
        await berth.call('cancelRun', { sessionId: session.id, runId: session.activeRunId })
    },
  })
}
