import type { AppKey } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

/** The keys of an app in the order of their registration, revoked ones included. */
export const appKeysQuery = (organizationId: string, slug: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'apps', slug, 'keys'],
    queryFn: async () => (await call<{ keys: readonly AppKey[] }>('GET', `account/apps/${slug}/keys`)).keys,
  })
