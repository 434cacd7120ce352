import type { Interaction, Session } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { interactionsQuery } from '../api/queries.ts'
import { useOfOpenSession } from './of-open-session.ts'

/** Returns the requests of the agent that wait for people, the oldest first. */
export function useOpen(session: Session): readonly Interaction[] {
  const { sessionId, only } = useOfOpenSession()
  const { data } = useQuery({ ...interactionsQuery(sessionId), enabled: session.archivedAt === undefined })
  return session.id === sessionId ? only(data ?? []) : []
}

/** Returns the question or plan that the message box answers: the oldest. */
export const firstOpen = (open: readonly Interaction[]): Interaction | undefined =>
  open.find(({ kind }) => kind !== 'approval')

/** Returns whether one text cannot answer it: there are several questions, or several options to choose. */
export const isForm = ({ request: { questions = [] } }: Interaction): boolean =>
  questions.length > 1 || questions[0]?.multiSelect === true
