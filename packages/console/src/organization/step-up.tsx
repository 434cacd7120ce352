import { BerthError } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { call } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** Leaves for the account service, which asks for the credentials again and returns to this very page. */
async function stepUp(): Promise<void> {
  const { url } = await call<{ url: string }>('POST', 'auth/step-up', {
    returnTo: location.pathname + location.search,
  })
  location.assign(url)
}

/** Why an action of an administrator failed. If it needs a recent sign-in, the way to it. */
export function ActionProblem({ error }: { error: unknown }) {
  const leave = useMutation({ mutationFn: stepUp })
  if (!(error instanceof BerthError) || error.code !== 'recent_sign_in_required') return <InlineProblem error={error} />
  return (
    <div
      role="alert"
      // A long form may have it below the visible part.
      ref={node => node?.scrollIntoView({ block: 'nearest' })}
      className="flex flex-col items-start gap-2.5 rounded-md border border-line bg-surface p-3"
    >
      <p className="flex gap-2.5 text-[0.8125rem]">
        <ShieldCheck className="mt-0.5 size-4 shrink-0 text-accent" aria-hidden />
        <span>
          <strong className="font-semibold">Confirm that it is you.</strong> Changes of access need a sign-in of the
          last ten minutes. You come back to this dialog, and what you entered stays.
        </span>
      </p>
      <Button variant="primary" busy={leave.isPending || leave.isSuccess} onClick={() => leave.mutate()}>
        Sign in again
      </Button>
      <InlineProblem error={leave.error} />
    </div>
  )
}
