import type { Session } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { berth, call } from '../../api/client.ts'
import { queryClient, sessionQuery } from '../../api/queries.ts'
import { type Attachment, encoded } from '../../message/attachments.ts'
import { to } from '../../routing/to.ts'
import { type Draft, rememberRepository } from './draft.ts'

/** Starts the Session of a draft, and goes there. Files go with a Turn of their own, once the Session is there. */
export function useStart(forget: () => void) {
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async ({ draft, attachments }: { draft: Draft; attachments: readonly Attachment[] }) => {
      const { repository, branch, runtime, model, effort, budget, environment, sessionId, turnId } = draft
      const message = draft.plan && runtime === 'native' ? `/plan\n${draft.message}` : draft.message
      const files = await Promise.all(attachments.map(encoded))
      const { session } = await call<{ session: Session }>('PUT', `sessions/${sessionId}`, {
        ...(files.length === 0 && { initialTurn: { id: turnId, message } }),
        ...(runtime === 'native' ? {} : { runtime }),
        ...(model === '' ? {} : { model }),
        ...(effort === '' ? {} : { effort }),
        ...(budget === '' ? {} : { budget: { costUsd: Number(budget) } }),
        ...(environment === '' ? {} : { environment: environment === 'none' ? null : { id: environment } }),
        ...(repository === null
          ? {}
          : {
              source: {
                grantId: repository.grantId,
                repositoryId: repository.repositoryId,
                ...(branch === null ? {} : { baseBranch: branch }),
              },
            }),
      })
      if (files.length > 0) await berth.call('submitTurn', { sessionId, turnId, body: { message, files } })
      return session
    },
    onSuccess: async (session, { draft }) => {
      forget()
      rememberRepository(draft.repository)
      queryClient.setQueryData(sessionQuery(session.id).queryKey, session)
      void queryClient.invalidateQueries({ queryKey: ['session', session.id] })
      await navigate(to.session(session.id))
    },
  })
}
