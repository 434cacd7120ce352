import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'

/** Returns the command that gives a Session another title. */
export function useRename({ id }: Pick<Session, 'id'>) {
  return useMutation({
    mutationFn: (title: string) => berth.call('updateSession', { sessionId: id, body: { title } }),
    onSuccess: answer => {
      queryClient.setQueryData(sessionQuery(id).queryKey, answer.session)
      return queryClient.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
}
