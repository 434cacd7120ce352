import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { queryClient, runtimesQuery, sessionQuery } from '../api/queries.ts'
import { localPullQuery } from '../changes/queries.ts'
import { environmentQuery, environmentsQuery } from '../environments/queries.ts'
import { ensureSession } from '../session/overview.ts'
import { sessionListQuery } from '../sessions/queries.ts'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { organizationIndexRoute, organizationRoute } from './organization-route.tsx'
import { oversightRoutes, shortUsageRoute } from './oversight-routes.tsx'
import { peopleRoutes } from './people-routes.tsx'
import {
  readEnvironmentListSearch,
  readEnvironmentSearch,
  readListSearch,
  readNewSessionSearch,
  readPullListSearch,
  readPullSearch,
  readSessionSearch,
} from './searches.ts'
import { settingsRoutes } from './settings-routes.tsx'
import { rootRoute, shellRoute } from './shell-route.tsx'
import { to } from './to.ts'

const signedOutRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/signed-out',
  component: lazyRouteComponent(() => import('../shell/outside-pages.tsx'), 'SignedOutPage'),
})

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('../shell/outside-pages.tsx'), 'SignInPage'),
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
  loaderDeps: ({ search }) => search,
  // Not awaited: the page shows the last answer until the next one is there.
  loader: ({ deps }) => void queryClient.prefetchInfiniteQuery(sessionListQuery(deps)),
  component: lazyRouteComponent(() => import('../sessions/sessions-page.tsx'), 'SessionsPage'),
})

const newSessionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/new',
  validateSearch: readNewSessionSearch,
  loader: () => {
    void queryClient.prefetchInfiniteQuery(environmentsQuery(false))
    void queryClient.prefetchQuery(runtimesQuery)
  },
  component: lazyRouteComponent(() => import('../sessions/new-session/new-session-page.tsx'), 'NewSessionPage'),
})

const sessionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/$sessionId',
  validateSearch: readSessionSearch,
  loader: ({ params }) => ensureSession(params.sessionId),
  component: lazyRouteComponent(() => import('../session/session-page.tsx'), 'SessionPage'),
})

const reviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/$sessionId/review',
  loader: ({ params }) => queryClient.ensureQueryData(sessionQuery(params.sessionId)),
  component: lazyRouteComponent(() => import('../changes/review-page.tsx'), 'ReviewPage'),
})

const compareRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions/$sessionId/compare/$otherId',
  component: lazyRouteComponent(() => import('../compare/compare-page.tsx'), 'ComparePage'),
})

const pullRequestsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/pull-requests',
  validateSearch: readPullListSearch,
  component: lazyRouteComponent(() => import('../pulls/pull-requests-page.tsx'), 'PullRequestsPage'),
})

const pullRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/pulls/$repositoryId/$number',
  validateSearch: readPullSearch,
  params: {
    parse: ({ repositoryId, number }) => ({ repositoryId, number: Number.parseInt(number, 10) || 0 }),
    stringify: ({ repositoryId, number }) => ({ repositoryId, number: String(number) }),
  },
  loader: ({ params }) => queryClient.ensureQueryData(localPullQuery(params.repositoryId, params.number)),
  component: lazyRouteComponent(() => import('../changes/pull-page.tsx'), 'PullPage'),
})

const environmentsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/environments',
  validateSearch: readEnvironmentListSearch,
  loaderDeps: ({ search }) => ({ archived: search.archived === true }),
  loader: ({ deps }) => queryClient.ensureInfiniteQueryData(environmentsQuery(deps.archived)),
  component: lazyRouteComponent(() => import('../environments/environments-page.tsx'), 'EnvironmentsPage'),
})

const newEnvironmentRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/environments/new',
  component: lazyRouteComponent(() => import('../environments/new-environment-page.tsx'), 'NewEnvironmentPage'),
})

const environmentRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/environments/$environmentId',
  validateSearch: readEnvironmentSearch,
  loader: ({ params }) => queryClient.ensureQueryData(environmentQuery(params.environmentId)),
  component: lazyRouteComponent(() => import('../environments/environment-page.tsx'), 'EnvironmentPage'),
})

const routeTree = rootRoute.addChildren([
  signedOutRoute,
  signInRoute,
  shellRoute.addChildren([
    homeRoute,
    sessionsRoute,
    newSessionRoute,
    sessionRoute,
    reviewRoute,
    compareRoute,
    pullRequestsRoute,
    pullRoute,
    environmentsRoute,
    newEnvironmentRoute,
    environmentRoute,
    organizationRoute.addChildren([organizationIndexRoute, ...peopleRoutes, ...oversightRoutes]),
    shortUsageRoute,
    settingsRoutes,
  ]),
])

/** Makes the console's router. Pages are loaded as soon as a link to them is pointed at. */
export function makeRouter() {
  const router = createRouter({
    routeTree,
    defaultPreload: 'intent',
    // The pages' data is the query client's, which knows how fresh it is.
    defaultPreloadStaleTime: 0,
    // A page is about one thing: drafts, questions and answers never show on the page of another thing.
    defaultRemountDeps: ({ params }) => params,
    scrollRestoration: false,
    defaultPendingMs: 300,
    defaultPendingComponent: () => <LoadingLines label="the page" />,
    defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} retry={reset} />,
    defaultNotFoundComponent: () => <ErrorState error={null} />,
  })
  // A link in the page before went with it, and the focus with the link: the keyboard goes on in the new page.
  router.subscribe('onRendered', ({ pathChanged }) => {
    if (pathChanged && document.activeElement === document.body) {
      document.getElementById('content')?.focus({ preventScroll: true })
    }
  })
  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
