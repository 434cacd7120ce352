import type { FollowUp, FollowUpRequest } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { followUpQuery } from './queries.ts'

/** Returns the ways to begin, change, resume and stop the follow-up of a Publication's pull request. */
export function useFollow(sessionId: string, publicationId: string) {
  const settle = (followUp: FollowUp) => {
    queryClient.setQueryData(followUpQuery(sessionId, publicationId).queryKey, followUp)
    void queryClient.invalidateQueries({ queryKey: ['pull-requests'] })
  }
  const follow = useMutation({
    mutationFn: async (body: FollowUpRequest) =>
      (await berth.call('putFollowUp', { sessionId, publicationId, body })).followUp,
    onSuccess: settle,
  })
  const stop = useMutation({
    mutationFn: async () => (await berth.call('stopFollowUp', { sessionId, publicationId })).followUp,
    onSuccess: settle,
  })
  return { follow, stop } as const
}
