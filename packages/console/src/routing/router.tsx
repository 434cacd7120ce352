import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { NoMembership, needsSignIn, signIn, viewerQuery } from '../api/identity.ts'
import { queryClient, runtimesQuery, sessionQuery, sessionsQuery } from '../api/queries.ts'
import { AppShell } from '../shell/app-shell.tsx'
import { NoAccessPage, SignedOutPage } from '../shell/outside-pages.tsx'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { readListSearch, readSessionSearch } from './searches.ts'
import { to } from './to.ts'

const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: ({ error, reset }) =>
    error instanceof NoMembership ? <NoAccessPage /> : <ErrorState error={error} retry={reset} />,
  notFoundComponent: () => <ErrorState error={null} />,
})

const signedOutRoute = createRoute({ getParentRoute: () => rootRoute, path: '/signed-out', component: SignedOutPage })

/** Everything for people who are signed in. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: AppShell,
  beforeLoad: async () => {
    try {
      return { viewer: await queryClient.ensureQueryData(viewerQuery) }
    } catch (error) {
      if (needsSignIn(error)) return signIn()
      throw error
    }
  },
})

const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ ...to.sessions(), replace: true })
  },
})

const sessionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions',
  validateSearch: readListSearch,
  loaderDeps: ({ search }) => ({ archived: search.archived === true }),
  loader: ({ deps }) => queryClient.ensureInfiniteQueryData(sessionsQuery(deps.archived)),
  component: lazyRouteComponent(() => import('../sessions/sessions-page.tsx'), 'SessionsPage'),
})

const newSessionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/new',
  loader: () => queryClient.ensureQueryData(runtimesQuery),
  component: lazyRouteComponent(() => import('../sessions/new-session-page.tsx'), 'NewSessionPage'),
})

const sessionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/$sessionId',
  validateSearch: readSessionSearch,
  loader: ({ params }) => queryClient.ensureQueryData(sessionQuery(params.sessionId)),
  component: lazyRouteComponent(() => import('../session/session-page.tsx'), 'SessionPage'),
})

const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
})

const routeTree = rootRoute.addChildren([
  signedOutRoute,
  shellRoute.addChildren([homeRoute, sessionsRoute, newSessionRoute, sessionRoute, settingsRoute]),
])

/** Makes the console's router. Pages are loaded as soon as a link to them is pointed at. */
export function makeRouter() {
  return createRouter({
    routeTree,
    defaultPreload: 'intent',
    // The pages' data is the query client's, which knows how fresh it is.
    defaultPreloadStaleTime: 0,
    scrollRestoration: false,
    defaultPendingMs: 300,
    defaultPendingComponent: () => <LoadingLines label="the page" />,
    defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} retry={reset} />,
    defaultNotFoundComponent: () => <ErrorState error={null} />,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
