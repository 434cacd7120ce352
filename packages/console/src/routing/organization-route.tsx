import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { shellRoute } from './shell-route.tsx'

/** The frame of the organization's pages; each section adds its routes below it. */
export const organizationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/organization',
  component: lazyRouteComponent(() => import('../organization/organization-page.tsx'), 'OrganizationPage'),
})

/** `/organization` itself leads to the first section that the person may use. */
export const organizationIndexRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/',
  beforeLoad: async ({ context }) => {
    const { firstSection } = await import('../organization/sections.ts')
    throw redirect({ ...firstSection(context.viewer.membership).to, replace: true })
  },
})
