import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { SquareTerminal } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { call } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { rememberedTerminal } from './remembered.ts'

const TerminalView = lazy(async () => ({ default: (await import('./terminal-view.tsx')).TerminalView }))

/**
 * A person's terminal in the Session's sandbox. Only a person starts one, and the sandbox with it: the panel alone, in a
 * link or after a reload, only comes back to a terminal that this tab had.
 */
export function TerminalPanel({ session }: { session: Session }) {
  const [wanted, setWanted] = useState(() => rememberedTerminal(session.id) !== null)
  if (!wanted) return <Offer session={session} onOpen={() => setWanted(true)} />
  return (
    <Suspense fallback={<LoadingLines label="the terminal" />}>
      <TerminalView sessionId={session.id} onClose={() => setWanted(false)} />
    </Suspense>
  )
}

function Offer({ session, onOpen }: { session: Session; onOpen: () => void }) {
  const can = useSessionCan(session)
  const isThere = session.workspace.state === 'attached'
  const wake = useMutation({
    mutationFn: () => call<{ session: Session }>('PUT', `v1/sessions/${session.id}/workspace`),
    onSuccess: answer => {
      queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session)
      onOpen()
    },
  })
  return (
    <EmptyState
      icon={SquareTerminal}
      title={isThere ? 'Work in the sandbox yourself' : 'The sandbox is asleep'}
      action={
        isThere ? (
          <Button variant="primary" verdict={can('terminal')} onClick={onOpen}>
            Open a terminal
          </Button>
        ) : (
          <Button variant="primary" verdict={can('wake')} busy={wake.isPending} onClick={() => wake.mutate()}>
            {wake.isPending ? 'Starting the sandbox…' : 'Start the sandbox'}
          </Button>
        )
      }
    >
      <p>
        {isThere
          ? 'A shell where the agent works, as the same user. It goes on when you leave this page, and what you change is saved with the Session.'
          : 'Its files are saved. Starting it brings them back as the agent left them, and opens a terminal.'}
      </p>
      <InlineProblem error={wake.error} />
    </EmptyState>
  )
}
