import type { Interaction, Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { useOfOpenSession } from './of-open-session.ts'

/** Properties of the cards of plans and questions. */
export interface ToReply {
  readonly interaction: Interaction
  readonly session: Session
  /** Somebody else has answered it; words that were begun here can still be read. */
  readonly closed: boolean
  /** Called with whether something is written that was not sent. */
  readonly onBegun: (is: boolean) => void
}

/** Answers a question or a plan with a Turn. Sending the same answer again admits it once. */
export function useReply({ interaction, onBegun }: ToReply) {
  const { mustOwn } = useOfOpenSession()
  const turn = useRef<{ message: string; id: string } | null>(null)
  return useMutation({
    mutationFn: async (message: string) => {
      const sessionId = mustOwn(interaction)
      if (turn.current?.message !== message) turn.current = { message, id: crypto.randomUUID() }
      return berth.call('submitTurn', {
        sessionId,
        turnId: turn.current.id,
        body: {
          message,
          replyTo: { interactionId: interaction.id },
        },
      })
    },
    onSuccess: () => onBegun(false),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['session', interaction.sessionId] }),
  })
}
