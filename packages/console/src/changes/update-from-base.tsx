import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { GitPullRequestArrow } from 'lucide-react'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** Merges the newest commits of the base into the workspace, and has the agent bring the work onto them. */
export function UpdateFromBase({ session, base }: { session: Session; base: string }) {
  const verdict = useSessionCan(session)('message')
  // Kept until it has been admitted: pressing again after a lost answer must not begin a second Run.
  const turnId = useRef(crypto.randomUUID())
  const update = useMutation({
    mutationFn: () =>
      berth.call('submitTurn', {
        sessionId: session.id,
        turnId: turnId.current,
        body: { message: messageOf(base), updateFromBase: true },
      }),
    onSuccess: async () => {
      turnId.current = crypto.randomUUID()
      await queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true })
    },
  })
  return (
    <>
      <Button verdict={verdict} busy={update.isPending} onClick={() => update.mutate()} className="max-sm:px-2.5">
        <GitPullRequestArrow className="size-4 max-sm:hidden" aria-hidden /> Update from base
      </Button>
      <InlineProblem error={update.error} />
    </>
  )
}

const messageOf = (base: string) =>
  `The newest commits of ${base} have been merged into the workspace. Bring the work onto them: resolve what conflicts, keep what both sides mean, and see that the work still does what it should.`
