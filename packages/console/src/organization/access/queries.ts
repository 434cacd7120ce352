import type { App, Installation, Integration } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'

/** The live integrations of an organization with their active keys, newest first. */
export const integrationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'integrations'],
    queryFn: async () =>
      (
        await call<{ integrations: readonly Integration[] }>(
          'GET',
          `account/organizations/${organizationId}/integrations`,
        )
      ).integrations,
    // People return for the use of keys.
    refetchInterval: 60_000,
  })

/** Installations of apps and integrations, revoked ones included, newest first. */
export const installationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'installations'],
    queryFn: async () =>
      (
        await call<{ installations: readonly Installation[] }>(
          'GET',
          `account/organizations/${organizationId}/installations`,
        )
      ).installations,
  })

/** The organization's own apps by slug. */
export const appsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'apps'],
    queryFn: async () => (await call<{ apps: readonly App[] }>('GET', 'account/apps')).apps,
  })

/** Asks again for everything about access. */
export function refreshAccess(organizationId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['organization', organizationId] })
}
