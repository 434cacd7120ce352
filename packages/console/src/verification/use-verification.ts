import type { Review, Session, Verification } from '@berth/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { environmentQuery } from '../environments/queries.ts'
import { outcomeOf } from './outcome.ts'
import { verificationsQuery } from './queries.ts'

/** How the changes on screen stand to the checks of their environment, and the ways to have them checked. */
export function useVerification(session: Session, review: Pick<Review, 'revision'>) {
  const { id: sessionId, environment } = session
  const known = useQuery({ ...environmentQuery(environment?.id ?? ''), enabled: environment !== null }).data
  const list = useQuery({ ...verificationsQuery(sessionId), enabled: session.source !== undefined })
  const all = list.data ?? []
  const outcome = outcomeOf(all, review.revision, known?.revision ?? null)
  // Kept until the answer is here: a second press after a lost one begins no second verification.
  const id = useRef({ value: crypto.randomUUID(), of: '' })
  const put = (verification: Verification) =>
    queryClient.setQueryData(verificationsQuery(sessionId).queryKey, before => [
      verification,
      ...(before ?? []).filter(each => each.id !== verification.id),
    ])
  const begin = useMutation({
    mutationFn: async ({ fresh = false }: { fresh?: boolean } = {}) => {
      const of = `${review.revision} ${fresh}`
      if (id.current.of !== of) id.current = { value: crypto.randomUUID(), of }
      const body = { revision: review.revision, ...(fresh && { fresh }) }
      return (await berth.call('createVerification', { sessionId, verificationId: id.current.value, body }))
        .verification
    },
    onSuccess: verification => {
      id.current = { value: crypto.randomUUID(), of: '' }
      put(verification)
    },
  })
  const cancel = useMutation({
    mutationFn: async (verificationId: string) =>
      (await berth.call('cancelVerification', { sessionId, verificationId })).verification,
    onSuccess: verification => {
      begin.reset()
      put(verification)
      return queryClient.invalidateQueries({ queryKey: verificationsQuery(sessionId).queryKey, exact: true })
    },
  })
  return {
    /** Null while it is not known. */
    environment: known ?? null,
    isKnown: list.data !== undefined && (environment === null || known !== undefined),
    problem: list.error,
    hasChecks: (known?.document.checks ?? []).length > 0,
    /** Whether the environment lets verified revisions out alone. */
    required: known?.document.requireVerified === true,
    all,
    outcome,
    begin,
    cancel,
  } as const
}

export type UseVerification = ReturnType<typeof useVerification>
