import { getRouteApi, Link } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { to } from '../routing/to.ts'
import { buttonClass } from '../ui/button.tsx'
import { Title } from '../ui/page.tsx'
import { EmptyState, ErrorState } from '../ui/states.tsx'

const route = getRouteApi('/shell/settings/git-connected')

/** Why an account at a Git host was not connected. Where it was, the browser has left this page already. */
export function FinishPage() {
  const outcome = route.useLoaderData()
  return (
    <div className="grid h-full place-items-center">
      <Title>Connect an account</Title>
      <h1 className="sr-only">Connect an account</h1>
      {outcome.kind === 'failed' ? (
        <div className="flex flex-col items-center">
          <ErrorState error={outcome.error} />
          <Again />
        </div>
      ) : (
        <EmptyState icon={KeyRound} title="Nothing was connected" action={<Again />}>
          {outcome.kind === 'denied'
            ? 'You did not allow it at the Git host. Sessions on repositories that ask for an account of your own cannot start without one.'
            : 'This page finishes what you begin in your settings. Begin there.'}
        </EmptyState>
      )}
    </div>
  )
}

function Again() {
  return (
    <Link {...to.gitAccounts()} className={buttonClass('primary')}>
      Git accounts
    </Link>
  )
}
