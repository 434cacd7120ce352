import type { Interaction, Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { queryClient } from '../api/queries.ts'
import { useOfOpenSession } from './of-open-session.ts'
import { sendAnswer } from './send-answer.ts'

/** Properties of the cards of plans and questions. */
export interface ToReply {
  readonly interaction: Interaction
  readonly session: Session
  /** Keys press its buttons: it is the first card. */
  readonly keyed: boolean
  /** Somebody else has answered it; the unsent reply can still be read. */
  readonly closed: boolean
  /** Called with whether an answer is begun or on its way that the service does not have. */
  readonly onBegun: (is: boolean) => void
}

/** Answers a question or a plan with a Turn. Sending the same answer again admits it once. */
export function useReply({ interaction, closed, onBegun }: ToReply) {
  const { mustOwn } = useOfOpenSession()
  const turn = useRef<{ message: string; id: string } | null>(null)
  const sent = useRef(false)
  const reply = useMutation({
    mutationFn: async (message: string) => {
      mustOwn(interaction)
      if (turn.current?.message !== message) turn.current = { message, id: crypto.randomUUID() }
      await sendAnswer(interaction, turn.current.id, { message })
    },
    // The card stays until it knows how that ended.
    onMutate: () => onBegun(true),
    onSuccess: () => onBegun(false),
    onError: () => {
      sent.current = false
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['session', interaction.sessionId] }),
  })
  return {
    error: reply.error,
    reset: reply.reset,
    busy: reply.isPending || reply.isSuccess,
    /** Another answer stands, and this one does not. */
    lost: closed && !reply.isPending && !reply.isSuccess,
    /** Sends an answer; pressing twice sends one. */
    answer: (message: string) => {
      if (sent.current) return
      sent.current = true
      reply.mutate(message)
    },
  }
}
