import type { App, Installation } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { appsQuery, installationsQuery } from '../access/queries.ts'
import { meetsRequirement } from '../requirement.ts'
import type { Place } from './queries.ts'

/** An installation with its name. */
export interface NamedPlace extends Place {
  readonly name: string
}

/** Returns the live installations of the organization's own apps, as far as the person may see them. */
export function usePlaces(): {
  readonly apps: readonly App[]
  readonly places: readonly NamedPlace[]
  readonly pending: boolean
  readonly error: unknown
  readonly retry: () => void
} {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const may = (need: Parameters<typeof meetsRequirement>[0]) => meetsRequirement(need, viewer.membership)
  const apps = useQuery({ ...appsQuery(organizationId), enabled: may('organization.applications.manage') })
  const installations = useQuery({
    ...installationsQuery(organizationId),
    enabled: may('organization.integrations.manage'),
  })
  const own = new Map((apps.data ?? []).map(app => [app.slug, app.name]))
  return {
    apps: apps.data ?? [],
    places: (installations.data ?? [])
      .filter(({ app, revokedAt }) => own.has(app) && revokedAt === undefined)
      .map(({ id, app, name }: Installation) => ({ app, installation: id, name: name ?? own.get(app) ?? app })),
    pending: apps.isLoading || installations.isLoading,
    error: apps.error ?? installations.error,
    retry: () => void Promise.all([apps.refetch(), installations.refetch()]),
  }
}
