import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Archive, TriangleAlert } from 'lucide-react'
import { berth } from '../api/client.ts'
import { useLacksModel } from '../api/lacks-model.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { modelNote, noteOf } from './continuation-notes.ts'
import { useSessionCan } from './use-session-can.ts'

/** Warns before the next message about the state that it will not continue, and offers actions. */
export function Banner({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const reset = useMutation({
    mutationFn: () => berth.call('resetSession', { sessionId: session.id }),
    onSuccess: answer => queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session),
  })
  const lacksModel = useLacksModel(session.runtime === undefined && session.activeRunId === undefined)
  const { reason } = session.continuation
  const note = noteOf(reason, lacksModel)
  if (note === null) return null
  const archived = reason === 'session_archived'
  const Icon = archived ? Archive : TriangleAlert
  return (
    <div
      className={`flex flex-wrap items-center gap-2.5 rounded-lg border px-3 py-2 text-[0.8125rem] ${archived ? 'border-line bg-surface' : 'border-warning-line bg-warning-soft'}`}
    >
      <Icon className={`size-4 shrink-0 ${archived ? 'text-ink-3' : 'text-warning'}`} aria-hidden />
      <p className="min-w-0 flex-1 basis-60">{note}</p>
      {note === modelNote && (
        <Link {...to.models()} className="text-accent underline underline-offset-2">
          Models
        </Link>
      )}
      {reason === 'checkpoint_missing' && (
        <Button verdict={can('reset')} hint="above" busy={reset.isPending} onClick={() => reset.mutate()}>
          Reset the Session
        </Button>
      )}
      <InlineProblem error={reset.error} />
    </div>
  )
}
