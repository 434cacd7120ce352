import type { Invitation, Member } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'

/** The members of an organization by name. */
export const membersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'members'],
    queryFn: async () =>
      (await call<{ members: readonly Member[] }>('GET', `account/organizations/${organizationId}/members`)).members,
  })

/** The invitations that still work, newest first. */
export const invitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'invitations'],
    queryFn: async () =>
      (await call<{ invitations: readonly Invitation[] }>('GET', `account/organizations/${organizationId}/invitations`))
        .invitations,
  })

/** Asks again for the members and everything that shows their names. */
export function refreshPeople(organizationId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['organization', organizationId] })
  void queryClient.invalidateQueries({ queryKey: ['people', organizationId] })
}
