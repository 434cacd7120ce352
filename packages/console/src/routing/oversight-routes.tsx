import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { organizationRoute } from './organization-route.tsx'
import { readAuditSearch, readListing, readUsageSearch } from './searches.ts'
import { shellRoute } from './shell-route.tsx'
import { to } from './to.ts'

/** The short way that people type. */
export const shortUsageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ ...to.usage(search), replace: true })
  },
})

const usageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('../usage/usage-page.tsx'), 'UsagePage'),
})

const auditRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/audit',
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import('../audit/audit-page.tsx'), 'AuditPage'),
})

const healthRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/health',
  loader: async () => (await import('../health/keep-fresh.ts')).keepHealthFresh(),
  component: lazyRouteComponent(() => import('../health/health-page.tsx'), 'HealthPage'),
})

const gitRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/git',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/git/git-page.tsx'), 'GitPage'),
})

const modelsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/models',
  component: lazyRouteComponent(() => import('../organization/models/models-page.tsx'), 'ModelsPage'),
})

const limitsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/limits',
  component: lazyRouteComponent(() => import('../organization/limits/limits-page.tsx'), 'LimitsPage'),
})

const computeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/compute',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/compute/compute-page.tsx'), 'ComputePage'),
})

/** The sections about the organization's usage and activity. */
export const oversightRoutes = [
  gitRoute,
  usageRoute,
  modelsRoute,
  limitsRoute,
  computeRoute,
  auditRoute,
  healthRoute,
] as const
