import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { organizationRoute } from './organization-route.tsx'
import { readListing } from './searches.ts'

const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/members',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/members/members-page.tsx'), 'MembersPage'),
})

const integrationsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/integrations',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/integrations/integrations-page.tsx'), 'IntegrationsPage'),
})

const integrationRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/integrations/$integrationId',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/integrations/integration-page.tsx'), 'IntegrationPage'),
})

const installationsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/installations',
  validateSearch: readListing,
  component: lazyRouteComponent(
    () => import('../organization/installations/installations-page.tsx'),
    'InstallationsPage',
  ),
})

const triggersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/triggers',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/triggers/triggers-page.tsx'), 'TriggersPage'),
})

const triggerRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/triggers/$installationId/$triggerId',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/triggers/trigger-page.tsx'), 'TriggerPage'),
})

const appsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/apps',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/apps/apps-page.tsx'), 'AppsPage'),
})

const appRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/apps/$appSlug',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/apps/app-page.tsx'), 'AppPage'),
})

const webhooksRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/webhooks',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})

const webhookRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/webhooks/$appSlug/$installationId/$endpointId',
  validateSearch: readListing,
  component: lazyRouteComponent(() => import('../organization/webhooks/webhook-page.tsx'), 'WebhookPage'),
})

/** The sections about permissions. */
export const peopleRoutes = [
  membersRoute,
  integrationsRoute,
  integrationRoute,
  installationsRoute,
  triggersRoute,
  triggerRoute,
  appsRoute,
  appRoute,
  webhooksRoute,
  webhookRoute,
] as const
