import type { Session } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { Clock, Undo2 } from 'lucide-react'
import { call } from '../api/client.ts'
import { textFor } from '../api/problem.ts'
import { cacheNextTurn } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { useSessionCan } from './use-session-can.ts'

/** Refusals that mean something else here than as the answer to a request. */
const refusals: Readonly<Record<string, string>> = {
  cloud_session_not_found: 'The Session was archived.',
  insufficient_scope: 'Its author no longer belongs to the organization.',
}

/** Shows the message that waits, or that was given back, with the way to get its text into the box. */
export function NextTurnCard(props: {
  session: Session
  next: NextTurn
  own: boolean
  onText: (text: string) => void
}) {
  const { session, next, own, onText } = props
  const can = useSessionCan(session)
  const withdraw = useMutation({
    mutationFn: () => call<{ nextTurn: NextTurn | null }>('DELETE', `sessions/${session.id}/next-turn`),
    onSuccess: ({ nextTurn }) => {
      cacheNextTurn(session.id, null)
      if (nextTurn !== null) onText(nextTurn.message)
    },
  })
  const refused = next.refused !== null
  const who = own ? 'Your message' : `${next.writtenBy.name}\u2019s message`
  return (
    <article
      aria-label="The next message"
      className={`flex flex-col gap-2 rounded-lg border px-3 py-2 text-[0.8125rem] ${refused ? 'border-warning-line bg-warning-soft' : 'border-line bg-surface'}`}
    >
      <div className="flex items-start gap-2.5">
        {refused ? (
          <Undo2 className="mt-0.5 size-4 shrink-0 text-warning" aria-hidden />
        ) : (
          <Clock className="mt-0.5 size-4 shrink-0 text-ink-3" aria-hidden />
        )}
        <div className="min-w-0 flex-1">
          <p className="text-ink-2">
            {next.refused === null
              ? `${who} is sent when the agent has finished`
              : `${who} was not sent. ${refusals[next.refused] ?? textFor(next.refused)}`}
          </p>
          <p className="line-clamp-4 whitespace-pre-wrap [overflow-wrap:anywhere]">{next.message}</p>
        </div>
        {session.archivedAt !== undefined ? (
          <Button variant="quiet" hint="above" onClick={() => void navigator.clipboard.writeText(next.message)}>
            Copy
          </Button>
        ) : (
          <Button
            variant="quiet"
            hint="above"
            verdict={can('answer')}
            busy={withdraw.isPending}
            onClick={() => withdraw.mutate()}
          >
            {refused ? 'Put it into the box' : own ? 'Edit' : 'Take it back'}
          </Button>
        )}
      </div>
      <InlineProblem error={withdraw.error} />
    </article>
  )
}
