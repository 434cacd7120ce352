import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { LoadingLines } from '../ui/states.tsx'
import { readGitAccountsSearch } from './searches.ts'
import { shellRoute } from './shell-route.tsx'
import { to } from './to.ts'

const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
})

/** `/settings` itself leads to the first page. */
const settingsIndexRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ ...to.profile(), replace: true })
  },
})

const profileRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/profile',
  component: lazyRouteComponent(() => import('../settings/profile-page.tsx'), 'ProfilePage'),
})

const browsersRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/browsers',
  component: lazyRouteComponent(() => import('../settings/browsers-page.tsx'), 'BrowsersPage'),
})

const gitAccountsRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/git',
  validateSearch: readGitAccountsSearch,
  component: lazyRouteComponent(() => import('../git-accounts/git-accounts-page.tsx'), 'GitAccountsPage'),
})

/** Where a Git host sends the browser back to, by way of the service. */
const gitConnectedRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/git-connected',
  loader: async () => (await import('../git-accounts/finish.ts')).finish(location.hash),
  pendingMs: 0,
  pendingComponent: () => <LoadingLines lines={3} label="what the Git host said" />,
  component: lazyRouteComponent(() => import('../git-accounts/finish-page.tsx'), 'FinishPage'),
})

const appearanceRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/appearance',
  component: lazyRouteComponent(() => import('../settings/appearance-page.tsx'), 'AppearancePage'),
})

const notificationsRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/notifications',
  component: lazyRouteComponent(() => import('../settings/notifications-page.tsx'), 'NotificationsPage'),
})

const shortcutsRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/shortcuts',
  component: lazyRouteComponent(() => import('../settings/shortcuts-page.tsx'), 'ShortcutsPage'),
})

const helpRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/help',
  component: lazyRouteComponent(() => import('../settings/help-page.tsx'), 'HelpPage'),
})

/** A person's own settings. */
export const settingsRoutes = settingsRoute.addChildren([
  settingsIndexRoute,
  profileRoute,
  browsersRoute,
  gitAccountsRoute,
  gitConnectedRoute,
  appearanceRoute,
  notificationsRoute,
  shortcutsRoute,
  helpRoute,
])
