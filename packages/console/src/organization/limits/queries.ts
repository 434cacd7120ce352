import type { OrganizationSettings, PricedModelList, UpdateOrganizationSettings } from '@berth/contract'
import { queryOptions, useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'

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
export const saveOwn = (changed: UpdateOrganizationSettings): Promise<OrganizationSettings> =>
  call<OrganizationSettings>('PUT', 'settings', changed)

/** Sets one budget. @param onSaved is told that it is set */
export const useSaveBudget = (onSaved?: () => void) =>
  useMutation({
    mutationFn: (budget: NonNullable<UpdateOrganizationSettings['budget']>) => saveOwn({ budget }),
    onSuccess: saved => {
      queryClient.setQueryData(settingsQuery.queryKey, saved)
      onSaved?.()
    },
  })
