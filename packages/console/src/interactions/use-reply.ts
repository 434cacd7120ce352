import type { Interaction } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'

/** Answers a question or a plan with a Turn. Sending the same answer again admits it once. */
export function useReply(interaction: Interaction) {
  const turn = useRef<{ message: string; id: string } | null>(null)
  return useMutation({
    mutationFn: (message: string) => {
      if (turn.current?.message !== message) turn.current = { message, id: crypto.randomUUID() }
      return berth.turns.put(interaction.sessionId, turn.current.id, {
        message,
        replyTo: { interactionId: interaction.id },
      })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['session', interaction.sessionId] }),
  })
}
