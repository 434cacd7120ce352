import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { buttonClass } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { wayOnTurn } from './way-on-turn.ts'

type Ended = Pick<Session, 'status' | 'lastRun' | 'runtime'>

/** Returns the step that goes on after a Run that did not finish; null if none helps. */
export function wayOnOf({ status, lastRun, runtime }: Ended): 'Try again' | 'Continue' | null {
  // The same words would not fit the model either.
  if (lastRun === null || lastRun.errorCode === 'model_context_exceeded') return null
  if (status === 'failed') return 'Try again'
  // A script has no conversation to go on with.
  return status === 'stopped' ? (runtime === 'shell' ? 'Try again' : 'Continue') : null
}

const styles = {
  link: 'relative -my-2 shrink-0 py-2 font-medium text-accent underline decoration-line-strong underline-offset-3 hover:decoration-accent disabled:opacity-60',
  button: `${buttonClass('primary')} disabled:opacity-60`,
} as const

interface Props {
  readonly session: Session
  readonly variant?: keyof typeof styles
}

/** A button for that step: the same message once more, or the word to go on. Pressed once, it is done with that Run. */
export const WayOn = (props: Props) => <WayOnOf key={props.session.lastRun?.id} {...props} />

function WayOnOf({ session, variant = 'link' }: Props) {
  const step = wayOnOf(session)
  const { allowed } = useSessionCan(session)('message')
  const send = useMutation({
    mutationFn: async () => {
      const sessionId = session.id
      const body = step === 'Continue' ? { message: 'Continue.' } : await lastMessage(session)
      await berth.call('submitTurn', { sessionId, turnId: wayOnTurn(session.lastRun?.id ?? sessionId), body })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true }),
  })
  if (step === null || !allowed) return null
  return (
    <>
      <button
        type="button"
        disabled={send.isPending || send.isSuccess}
        onClick={() => send.mutate()}
        className={styles[variant]}
      >
        {step}
      </button>
      <InlineProblem error={send.error} />
    </>
  )
}

async function lastMessage({ id: sessionId, lastRun }: Session) {
  const query = { after: (lastRun?.turnSequence ?? 0) - 1, limit: 1 }
  const [turn] = (await berth.call('listTurns', { sessionId, query })).turns
  const files = (turn?.files ?? []).map(({ name, mediaType, sha256 }) => ({ name, mediaType, sha256 }))
  return {
    message: turn?.message ?? '',
    ...(files.length > 0 && { files }),
    ...(turn?.output !== undefined && { output: turn.output }),
  }
}
