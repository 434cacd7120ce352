import { createRootRoute, createRoute, type ErrorComponentProps, Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { NoMembership, needsSignIn, signIn, viewerQuery } from '../api/identity.ts'
import { queryClient } from '../api/queries.ts'
import { shareLive } from '../live/live.ts'
import { keepPushed } from '../notifications/keep-pushed.ts'
import { followLists } from '../sessions/live-lists.ts'
import { AppShell } from '../shell/app-shell.tsx'
import { ErrorState } from '../ui/states.tsx'

const NoAccessPage = lazy(async () => ({ default: (await import('../shell/outside-pages.tsx')).NoAccessPage }))

function Fault({ error, reset }: ErrorComponentProps) {
  if (!(error instanceof NoMembership)) return <ErrorState error={error} retry={reset} />
  return (
    <Suspense>
      <NoAccessPage />
    </Suspense>
  )
}

export const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: Fault,
  notFoundComponent: () => <ErrorState error={null} />,
})

/** Everything for people who are signed in. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: AppShell,
  errorComponent: Fault,
  beforeLoad: async () => {
    try {
      const viewer = await queryClient.ensureQueryData(viewerQuery)
      shareLive(viewer.membership.id)
      followLists()
      keepPushed(viewer.membership.id)
      return { viewer }
    } catch (error) {
      if (needsSignIn(error)) return signIn()
      throw error
    }
  },
})
