import type { OrganizationSettings, PricedModelList, UpdateOrganizationSettings } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

/** The limits of the organization: its own, and those of its operator. */
export const settingsQuery = queryOptions({
  queryKey: ['organization-settings'],
  queryFn: () => call<OrganizationSettings>('GET', 'settings'),
})

/** The models of the deployment with their prices. */
export const modelsQuery = queryOptions({
  queryKey: ['priced-models'],
  staleTime: 5 * 60_000,
  queryFn: () => call<PricedModelList>('GET', 'models'),
})

/** Sets some of the organization's own bounds; the others stay as they are now. */
export async function saveOwn(changed: Partial<UpdateOrganizationSettings>): Promise<OrganizationSettings> {
  const { own } = await call<OrganizationSettings>('GET', 'settings')
  return call<OrganizationSettings>('PUT', 'settings', { ...own, ...changed })
}
